//! Lists that come a moment later, completion among them: the disk or a server is asked first.

use mlua::{BString, Function, Table};
use serde::Deserialize;
use serde_json::{Value, json};

use super::table::Exports;
use crate::nvim::{binding::Binding, convert};
use flemma_tools::LuaRef;
use flemma_workspace::{Completion, components::Completions};

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
    // Lines of conversations that have these words, of the project whose root is above `start`, or else is `otherwise`, or of all: { file,
    // line, text }.
    Found { start: BString, otherwise: BString, is_all: bool, words: BString },
    // The files that the last turn has written, as in `flemma.WrittenFile`.
    ChangedFiles { buffer: i32 },
    // Paths, how many more there are, how many were left out because reading them is denied, and whether time was too short.
    FilesToPick { buffer: i32, folder: Option<String> },
    // The names of a provider's models.
    Models { provider: String },
}

/// What `complete` takes.
type Completing = (i32, usize, usize, Option<Vec<BString>>, Function);

/// Adds the functions.
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
            Listing::Found { start, otherwise, is_all, words } => {
                let (start, otherwise, callback) = (convert::path(start), convert::path(otherwise), keep());
                workspace.lists.find_words((&start, &otherwise), is_all, &words.to_string(), move |lists, found| {
                    let found = found.map(|found| serde_json::to_value(found).unwrap_or_default());
                    lists.shared.scripts.answered(callback, found);
                });
            }
            Listing::ChangedFiles { buffer } => changed_files(binding, buffer, keep()),
            Listing::FilesToPick { buffer, folder } => {
                let Some(conversation) = workspace.conversation(buffer) else { return Ok(false) };
                workspace.calls.files_to_pick(&conversation, folder, keep());
            }
            Listing::Models { provider } => workspace.switches.models(&provider, keep()),
        }
        Ok(true)
    })?;
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
            completions.shared.scripts.answered(callback, Ok(found.map_or(Value::Null, completion)));
        };
        let draft = lines.map(|lines| lines.iter().map(ToString::to_string).collect());
        binding.workspace.completions.complete(&conversation, draft, line, column, tell);
        Ok(true)
    })
}

fn completion(found: Completion) -> Value {
    json!({
        "first": found.range.start,
        "last": found.range.end,
        "items": found.items,
        "incomplete": found.is_incomplete,
    })
}

/// Calls back with a list of `flemma.WrittenFile`, or with nil and why there is none.
fn changed_files(binding: &Binding, buffer: i32, callback: LuaRef) {
    binding.workspace.undo.changed_files(buffer, move |undo, files| {
        let answer = files.map(|files| {
            let files = files.into_iter().map(|file| {
                let text = file.before.map(String::from_utf8).transpose();
                let is_binary = !text.as_ref().is_ok_and(|text| !text.as_ref().is_some_and(|text| text.contains('\0')));
                let note = file.is_lost.then_some("not kept").or(is_binary.then_some("binary"));
                let before = text.ok().flatten().filter(|_| note.is_none());
                json!({ "path": file.path.to_string_lossy(), "before": before, "note": note })
            });
            files.collect::<Value>()
        });
        undo.shared.scripts.answered(callback, answer);
    });
}
