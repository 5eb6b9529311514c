//! What the Lua code asks about folds and cards, and what motions and text objects look for.

use mlua::{IntoLuaMulti, Table};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;
use flemma_chat::{Extent, FoldGroup, Object, Selection};

/// What is looked for. Lines are counted from 0.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Target {
    // The line of the next or the previous message's marker.
    Message { line: usize, forward: bool },
    // The line of the next or the previous call that waits, or of the last one in that direction.
    WaitingCall { line: usize, forward: bool, count: usize },
    // The lines of a text object, and the byte of the first line from which on it counts.
    Object(ObjectAt),
    // How many lines are parsed, and the lines whose folds and cards may have changed since this was last asked.
    StaleFolds,
}

/// From where a text object is looked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectAt {
    /// Whether it is a message; otherwise a tool card.
    is_message: bool,
    first: usize,
    last: usize,
    is_selected: bool,
    is_inner: bool,
    count: usize,
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // folds(buffer, first, last, level) -> the folds of the messages in the lines, as far as they are parsed, as a flat list: for
    // each message its first and last line from 1, the depth of the folds in it, and the number of its folds; and for each fold, the
    // outer one last, its first and last line and whether it is closed at that level
    exports.add("folds", |_, binding, (buffer, first, last, level): (i32, usize, usize, u32)| {
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation.map(|conversation| numbers(&conversation.folds(first..last), level)))
    })?;
    // cards(buffer, first, last) -> a flat list of the blocks there that are drawn as cards: for each its first line, the line after it, the
    // line of the card, the number of runs of lines in it that a reader need not see, and the first line of each run and the one after it
    exports.add("cards", |_, binding, (buffer, first, last): (i32, usize, usize)| {
        let conversation = binding.workspace.conversation(buffer);
        let cards = conversation
            .map(|conversation| {
                conversation.page.with_parsed(|document, text| flemma_chat::hidden(document, first..last, text))
            })
            .unwrap_or_default();
        let mut list = Vec::new();
        for card in cards {
            list.extend([card.block.start, card.block.end, card.card, card.lines.len()]);
            list.extend(card.lines.into_iter().flat_map(|lines| [lines.start, lines.end]));
        }
        Ok(list)
    })?;
    // find(buffer, what, fields or nil) -> the line of a `Target`; or its first line, the one after the last, and perhaps a byte; or nil
    exports.add("find", |lua, binding, (buffer, what, fields): (i32, String, Option<Table>)| {
        let target = convert::variant(lua, &what, fields)?;
        let Some(conversation) = binding.workspace.conversation(buffer) else { return ().into_lua_multi(lua) };
        let object = match target {
            Target::Message { line, forward } => {
                return conversation.page.message_from(line, forward).into_lua_multi(lua);
            }
            Target::WaitingCall { line, forward, count } => {
                return binding.workspace.lists.waiting_from(buffer, line, forward, count).into_lua_multi(lua);
            }
            Target::StaleFolds => {
                let lines = conversation.page.take_stale_folds();
                let (first, last) = lines.map(|lines| (lines.start, lines.end)).unzip();
                return (conversation.page.parsed(), first, last).into_lua_multi(lua);
            }
            Target::Object(ObjectAt { is_message, first, last, is_selected, is_inner, count }) => {
                let extent = if is_inner { Extent::Inner } else { Extent::Whole };
                let selection = Selection { lines: first..last, is_selected, extent, count };
                conversation.page.with_document(|document, text| {
                    let object = if is_message { flemma_chat::message_object } else { flemma_chat::card_object };
                    object(document, &selection, text)
                })
            }
        };
        object
            .map_or((None, None, None), |Object { lines, column }| (Some(lines.start), Some(lines.end), column))
            .into_lua_multi(lua)
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
