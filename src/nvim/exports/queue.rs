//! What the user writes while a conversation is at work.

use mlua::LuaString;

use super::table::Exports;
use crate::{nvim::convert, workspace::Urgency};

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
    // unqueue(buffer, place or nil) -> the text of the message that was taken back
    exports.add("unqueue", |_, binding, (buffer, place): (i32, Option<usize>)| {
        Ok(binding.workspace.unqueue(buffer, place))
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
    // hold_queued(buffer, id) -> the text of the message, which does not go out now; nil if it is not there any more
    exports.add("hold_queued", |_, binding, (buffer, id): (i32, u64)| Ok(binding.workspace.hold_queued(buffer, id)))?;
    // release_queued(buffer, id): the message was not changed
    exports.add("release_queued", |_, binding, (buffer, id): (i32, u64)| {
        binding.workspace.release_queued(buffer, id);
        Ok(())
    })?;
    // draft(buffer) -> the text that was being written in the input window and was not queued; empty if there is none
    exports.add("draft", |_, binding, buffer: i32| Ok(binding.workspace.draft(buffer)))?;
    // keep_draft(buffer, text): this is being written in the input window; it is kept, and not sent
    exports.add("keep_draft", |_, binding, (buffer, text): (i32, LuaString)| {
        binding.workspace.keep_draft(buffer, &text.to_string_lossy());
        Ok(())
    })?;
    // outbox(buffer, width, hint) -> the lines below the text, each a list of { text, group }
    exports.add("outbox", |lua, binding, (buffer, width, hint): (i32, usize, String)| {
        let conversation = binding.workspace.conversation(buffer);
        let lines = conversation.map(|it| binding.workspace.outbox_view(&it, width, &hint));
        convert::to_lua(lua, &lines.unwrap_or_default())
    })
}
