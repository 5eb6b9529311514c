//! What the user writes while a conversation is at work.

use mlua::LuaString;

use super::table::Exports;
use crate::{
    nvim::convert,
    workspace::{OutboxHints, Urgency},
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // queue(buffer, text, steers) -> whether it was queued; `steers`: it goes out before the next request
    exports.add("queue", |_, binding, (buffer, text, steers): (i32, LuaString, bool)| {
        let urgency = if steers { Urgency::NextRequest } else { Urgency::NextTurn };
        Ok(binding.workspace.queue(buffer, &text.to_string_lossy(), urgency))
    })?;
    // change_queued(buffer, id, text): the message is released; without a text it is taken back
    exports.add("change_queued", |_, binding, (buffer, id, text): (i32, u64, LuaString)| {
        binding.workspace.change_queued(buffer, id, &text.to_string_lossy());
        Ok(())
    })?;
    // unqueue(buffer, place or nil) -> the text of the message that was taken back, and its number
    exports.add("unqueue", |_, binding, (buffer, place): (i32, Option<usize>)| {
        let taken = binding.workspace.unqueue(buffer, place);
        Ok(taken.map_or((None, None), |message| (Some(message.newest().to_owned()), Some(message.id))))
    })?;
    // steer(buffer): everything that is queued goes out before the next request
    exports.add("steer", |_, binding, buffer: i32| {
        binding.workspace.steer_with_queued(buffer);
        Ok(())
    })?;
    // queued(buffer) -> the numbers of the messages that wait, in order
    exports.add("queued", |_, binding, buffer: i32| {
        Ok(binding.workspace.queued(buffer).into_iter().map(|message| message.id).collect::<Vec<_>>())
    })?;
    // hold_queued(buffer, id) -> the text of the message, which does not go out now, and what the user has changed it to
    // without queueing that; nil if it is not there any more
    exports.add("hold_queued", |_, binding, (buffer, id): (i32, u64)| {
        let held = binding.workspace.hold_queued(buffer, id);
        Ok(held.map_or((None, None), |message| (Some(message.text), message.change)))
    })?;
    // release_queued(buffer, id) -> whether the message still does not go out, because a change of it is kept
    exports.add("release_queued", |_, binding, (buffer, id): (i32, u64)| {
        Ok(binding.workspace.release_queued(buffer, id))
    })?;
    // draft(buffer) -> the text that was being written in the input window and was not queued; empty if there is none
    exports.add("draft", |_, binding, buffer: i32| Ok(binding.workspace.draft(buffer)))?;
    // keep_draft(buffer, text, id or nil) -> whether it outlives the conversation: this is being written in the input window, a
    // change of the message with this number or another message; it is kept, and not sent
    exports.add("keep_draft", |_, binding, (buffer, text, id): (i32, LuaString, Option<u64>)| {
        Ok(binding.workspace.keep_draft(buffer, &text.to_string_lossy(), id))
    })?;
    // outbox(buffer, width, hint, draft_hint or nil) -> the lines below the text, each a list of { text, group }; the draft is
    // among them if its hint is given
    exports.add("outbox", |lua, binding, (buffer, width, hint, draft): (i32, usize, String, Option<String>)| {
        let conversation = binding.workspace.conversation(buffer);
        let hints = OutboxHints { queued: &hint, draft: draft.as_deref() };
        let lines = conversation.map(|it| binding.workspace.outbox_view(&it, width, hints));
        convert::to_lua(lua, &lines.unwrap_or_default())
    })
}
