//! What the Lua code asks about folds, text objects, and the motions between calls that wait.

use mlua::{Lua, Table};

use super::table::Exports;
use crate::chat::{Begins, Extent, Fold, FoldGroup, Object};

/// How many numbers describe a fold to Lua.
const FIELDS: usize = 5;

/// What `text_object` takes.
type ObjectAt = (i32, String, usize, usize, bool, bool, usize);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // folds(buffer, first, last, level) -> the folds of the messages in the lines, as far as they are parsed: see `numbers`
    exports.add("folds", |lua, binding, (buffer, first, last, level): (i32, usize, usize, u32)| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok(None) };
        numbers(lua, &conversation.folds(first..last), level).map(Some)
    })?;
    // stale_folds(buffer) -> the first line and the one after the last of those whose folds may have changed since the last
    // call, or nil
    exports.add("stale_folds", |_, binding, buffer: i32| {
        let conversation = binding.workspace.conversation(buffer);
        let lines = conversation.and_then(|conversation| conversation.take_stale_folds());
        Ok(lines.map_or((None, None), |lines| (Some(lines.start), Some(lines.end))))
    })?;
    // refold(buffer): nothing is under way in it any more, so its last message is complete
    exports.add("refold", |_, binding, buffer: i32| {
        if let Some(conversation) = binding.workspace.conversation(buffer) {
            conversation.refold();
        }
        Ok(())
    })?;
    // parsed(buffer) -> the number of lines that are parsed
    exports.add("parsed", |_, binding, buffer: i32| {
        Ok(binding.workspace.conversation(buffer).map(|conversation| conversation.parsed()))
    })?;
    // text_object(buffer, "message" or "tool", first, last, is_selected, is_inner, count) -> first, last and the byte of the
    // first line from which on it counts, or nil
    exports.add("text_object", |_, binding, args: ObjectAt| {
        let (buffer, kind, first, last, is_selected, is_inner, count) = args;
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok((None, None, None)) };
        let extent = if is_inner { Extent::Inner } else { Extent::Whole };
        let object = match kind.as_str() {
            "message" => conversation.message_object(&(first..last), is_selected, extent, count),
            _ => conversation.card_object(&(first..last), is_selected, extent, count),
        };
        Ok(object.map_or((None, None, None), |Object { lines, column }| (Some(lines.start), Some(lines.end), column)))
    })?;
    // waiting_from(buffer, line, forward, count) -> the line of the next or previous call that waits, or nil
    exports.add("waiting_from", |_, binding, args: (i32, usize, bool, usize)| {
        let (buffer, line, is_forward, count) = args;
        Ok(binding.workspace.waiting_from(buffer, line, is_forward, count))
    })
}

/// Folds as a flat list, since there may be many. Each has five numbers: its kind (0 for all lines of a message,
/// which is no fold and comes first; 1 for the fold of the message; 2 for one in it), its first and last line from 1, how it begins (0 open, 1 closed, 2 open
/// because the user has to see it, 3 closed if it is new), and the number of the message.
fn numbers(lua: &Lua, groups: &[FoldGroup], level: u32) -> mlua::Result<Table> {
    let begins = |fold: &Fold| match fold.begins {
        Begins::Open => 2,
        Begins::Brief if fold.begins.is_closed(level) => 3,
        begins => usize::from(begins.is_closed(level)),
    };
    let count: usize = groups.iter().map(|group| 2 + group.inner.len()).sum();
    let mut list: Vec<usize> = Vec::with_capacity(count * FIELDS);
    for group in groups {
        list.extend([0, group.lines.start + 1, group.lines.end, 0, group.message]);
        for (kind, fold) in group.outer.iter().map(|fold| (1, fold)).chain(group.inner.iter().map(|fold| (2, fold))) {
            list.extend([kind, fold.lines.start + 1, fold.lines.end, begins(fold), group.message]);
        }
    }
    lua.create_sequence_from(list)
}
