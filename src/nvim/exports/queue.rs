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
    // unqueue(buffer, place or nil) -> the text of the message that was taken back
    exports.add("unqueue", |_, binding, (buffer, place): (i32, Option<usize>)| {
        Ok(binding.workspace.unqueue(buffer, place).map(|message| message.text))
    })?;
    // steer(buffer): everything that is queued goes out before the next request
    exports.add("steer", |_, binding, buffer: i32| {
        binding.workspace.steer_with_queued(buffer);
        Ok(())
    })?;
    // queued(buffer) -> how many messages wait
    exports.add("queued", |_, binding, buffer: i32| {
        Ok(binding.workspace.conversation(buffer).map_or(0, |conversation| conversation.queued().len()))
    })?;
    // draft(buffer) -> the text that was being written in the input window and was not queued; empty if there is none
    exports.add("draft", |_, binding, buffer: i32| Ok(binding.workspace.draft(buffer)))?;
    // keep_draft(buffer, text): this is being written in the input window; it is kept, and not sent
    exports.add("keep_draft", |_, binding, (buffer, text): (i32, LuaString)| {
        binding.workspace.keep_draft(buffer, &text.to_string_lossy());
        Ok(())
    })?;
    // outbox(buffer) -> the lines below the text, each a list of { text, group }
    exports.add("outbox", |lua, binding, buffer: i32| {
        let conversation = binding.workspace.conversation(buffer);
        let lines = conversation.map(|it| binding.workspace.outbox_view(&it));
        convert::to_lua(lua, &lines.unwrap_or_default())
    })
}
