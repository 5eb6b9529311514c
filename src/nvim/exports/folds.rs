//! What the Lua code asks about folds, text objects, and the motions between calls that wait.

use super::table::Exports;
use crate::chat::{Extent, FoldGroup, Object};

/// What `text_object` takes.
type ObjectAt = (i32, String, usize, usize, bool, bool, usize);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // folds(buffer, first, last, level) -> the folds of the messages in the lines, as far as they are parsed, as a flat list: for
    // each message its first and last line from 1, the depth of the folds in it, and the number of its folds; and for each fold, the
    // outer one last, its first and last line and whether it is closed at that level
    exports.add("folds", |_, binding, (buffer, first, last, level): (i32, usize, usize, u32)| {
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation.map(|conversation| numbers(&conversation.folds(first..last), level)))
    })?;
    // stale_folds(buffer) -> the first line and the one after the last of those whose folds and cards may have changed since the last
    // call, or nil
    exports.add("stale_folds", |_, binding, buffer: i32| {
        let conversation = binding.workspace.conversation(buffer);
        let lines = conversation.and_then(|conversation| conversation.take_stale_folds());
        Ok(lines.map_or((None, None), |lines| (Some(lines.start), Some(lines.end))))
    })?;
    // hidden(buffer, first, last) -> a flat list: the lines of the blocks there from the first to after the last one, and the same for
    // each run of lines in them that a reader need not see
    exports.add("hidden", |_, binding, (buffer, first, last): (i32, usize, usize)| {
        let conversation = binding.workspace.conversation(buffer);
        let cards = conversation.map(|conversation| conversation.hidden(first..last)).unwrap_or_default();
        let from = cards.first().map_or(first, |card| card.block.start.min(first));
        let to = cards.last().map_or(last, |card| card.block.end.max(last));
        let lines = cards.into_iter().flat_map(|card| card.lines).flat_map(|lines| [lines.start, lines.end]);
        Ok([from, to].into_iter().chain(lines).collect::<Vec<usize>>())
    })?;
    // card_at(buffer, line) -> the first line of the block that is drawn as a card there, the line after it, and the line of the card
    exports.add("card_at", |_, binding, (buffer, line): (i32, usize)| {
        let conversation = binding.workspace.conversation(buffer);
        let cards = conversation.map(|conversation| conversation.hidden(line..line + 1)).unwrap_or_default();
        let found = cards.into_iter().find(|card| card.block.contains(&line));
        Ok(found.map_or((None, None, None), |card| (Some(card.block.start), Some(card.block.end), Some(card.card))))
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

/// Folds as a flat list, since there may be many.
fn numbers(groups: &[FoldGroup], level: u32) -> Vec<usize> {
    let mut list = Vec::new();
    for group in groups {
        let (depth, count) =
            (usize::from(group.outer.is_some()), group.inner.len() + usize::from(group.outer.is_some()));
        list.extend([group.lines.start + 1, group.lines.end, depth, count]);
        for fold in group.inner.iter().chain(&group.outer) {
            list.extend([fold.lines.start + 1, fold.lines.end, usize::from(fold.begins.is_closed(level))]);
        }
    }
    list
}
