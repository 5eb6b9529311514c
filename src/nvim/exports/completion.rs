//! Completion.

use mlua::{BString, Function};
use serde_json::{Value, json};

use super::table::Exports;
use flemma_workspace::{Completion, components::Completions};

/// What `complete` takes.
type Completing = (i32, usize, usize, Option<Vec<BString>>, Function);

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // complete(buffer, line, column, lines or nil, callback) -> true. Calls back, at once or later, with { first, last, items, incomplete },
    // where the columns are in bytes and an item is { kind, word, label, detail, documentation }; or with nil. `lines` are a message
    // for this conversation that is being written
    exports.add("complete", |_, binding, (buffer, line, column, lines, callback): Completing| {
        let callback = binding.functions.keep(callback);
        let Some(conversation) = binding.workspace.conversation(buffer) else {
            binding.workspace.shared.scripts.answered(callback, Ok(Value::Null));
            return Ok(true);
        };
        let tell = move |completions: &Completions, found: Option<Completion>| {
            completions.shared.scripts.answered(callback, Ok(found.map_or(Value::Null, table)));
        };
        let draft = lines.map(|lines| lines.iter().map(ToString::to_string).collect());
        binding.workspace.completions.complete(&conversation, draft, line, column, tell);
        Ok(true)
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
