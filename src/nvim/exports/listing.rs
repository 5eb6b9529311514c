//! Lists that come a moment later: the disk or a server is asked first.

use mlua::{BString, Function, Table};
use serde::Deserialize;

use super::{changes, table::Exports};
use crate::nvim::convert;

/// What is listed. Each calls back with nil and what went wrong instead, if something did.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Listing {
    // The conversations of the project whose root is above `start`, or else is `otherwise`, the newest first: { path, name, title, given
    // or nil, modified or nil, model, state }.
    Conversations { start: BString, otherwise: BString },
    // The calls that wait below a folder, and those of the journal if `is_all`: { calls = { { buf or file, line, call, text } },
    // problems, is_cut_short }.
    Waiting { folder: BString, is_all: bool },
    // The files that the last turn has written, as in `flemma.WrittenFile`.
    ChangedFiles { buffer: i32 },
    // Paths, how many more there are, how many were left out because reading them is denied, and whether time was too short.
    FilesToPick { buffer: i32, folder: Option<String> },
    // The names of a provider's models.
    Models { provider: String },
}

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // list(what, fields, callback) -> whether it was begun: a `Listing`
    exports.add("list", |lua, binding, (what, fields, callback): (String, Table, Function)| {
        let workspace = &binding.workspace;
        let keep = || binding.functions.keep(callback.clone());
        match convert::variant(lua, &what, Some(fields))? {
            Listing::Conversations { start, otherwise } => {
                let (start, otherwise, callback) = (convert::path(start), convert::path(otherwise), keep());
                workspace.lists.list_conversations(&start, &otherwise, move |lists, rows| {
                    let rows = rows.map(|rows| serde_json::to_value(rows).unwrap_or_default());
                    lists.shared.scripts.answered(callback, rows);
                });
            }
            Listing::Waiting { folder, is_all } => {
                let callback = keep();
                workspace.lists.list_waiting(convert::path(folder), is_all, move |lists, list| {
                    lists.shared.scripts.answered(callback, Ok(serde_json::to_value(list).unwrap_or_default()));
                });
            }
            Listing::ChangedFiles { buffer } => changes::list(binding, buffer, callback),
            Listing::FilesToPick { buffer, folder } => {
                let Some(conversation) = workspace.conversation(buffer) else { return Ok(false) };
                workspace.calls.files_to_pick(&conversation, folder, keep());
            }
            Listing::Models { provider } => workspace.switches.models(&provider, keep()),
        }
        Ok(true)
    })
}
