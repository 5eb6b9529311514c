//! Completion.

use mlua::{BString, Function};
use serde_json::{Value, json};

use super::table::Exports;
use crate::workspace::{Completion, Workspace};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // complete(buffer, line, column, callback) -> true. Calls back, at once or later, with { first, last, items, incomplete },
    // where the columns are in bytes and an item is { kind, word, label, detail, documentation }; or with nil
    exports.add("complete", |_, binding, (buffer, line, column, callback): (i32, usize, usize, Function)| {
        let callback = binding.functions.keep(callback);
        let Some(conversation) = binding.workspace.conversation(buffer) else {
            binding.workspace.give_answer(callback, Ok(Value::Null));
            return Ok(true);
        };
        let tell = move |workspace: &Workspace, found: Option<Completion>| {
            workspace.give_answer(callback, Ok(found.map_or(Value::Null, table)));
        };
        binding.workspace.complete(&conversation, line, column, tell);
        Ok(true)
    })?;
    // complete_draft(buffer, lines, line, column, callback): the same in a message for this conversation that is being written
    exports.add(
        "complete_draft",
        |_, binding, (buffer, lines, line, column, callback): (i32, Vec<BString>, usize, usize, Function)| {
            let callback = binding.functions.keep(callback);
            let Some(conversation) = binding.workspace.conversation(buffer) else {
                binding.workspace.give_answer(callback, Ok(Value::Null));
                return Ok(true);
            };
            let lines = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            binding.workspace.complete_draft(
                &conversation,
                lines,
                line,
                column,
                move |workspace: &Workspace, found| {
                    workspace.give_answer(callback, Ok(found.map_or(Value::Null, table)));
                },
            );
            Ok(true)
        },
    )?;
    // undo_words(buffer) -> the ids of the calls that `:Flemma undo` may name, the latest first
    exports.add("undo_words", |_, binding, buffer: i32| {
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation.map(|conversation| binding.workspace.writing_calls(&conversation)).unwrap_or_default())
    })
}

fn table(found: Completion) -> Value {
    json!({
        "first": found.range.start,
        "last": found.range.end,
        "items": serde_json::to_value(&found.items).unwrap_or_default(),
        "incomplete": found.is_incomplete,
    })
}
