//! Plain text.

use mlua::{BString, IntoLuaMulti, Table};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;
use flemma_text::{
    suggest,
    truncate::{self, Limits},
};
use flemma_tools::builtin::locate_section;

/// What is asked about a text.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    // The one of `words` that `word` may be a misspelling of.
    Nearest { word: String, words: Vec<String> },
    // A readable number of bytes.
    Size { bytes: f64 },
    // The beginning or the end of it: a table as in `flemma.Truncation`.
    Truncated { text: BString, from_end: bool, lines: Option<usize>, bytes: Option<usize> },
    // The line of a heading, from 1; or nil and what is wrong.
    Section { text: BString, heading: BString },
}

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // text(what, fields) -> what `Question` says of it
    exports.add("text", |lua, _, (what, fields): (String, Table)| match convert::variant(lua, &what, Some(fields))? {
        Question::Nearest { word, words } => {
            suggest::nearest(&word, words.iter().map(String::as_str)).into_lua_multi(lua)
        }
        Question::Size { bytes } => truncate::format_size(bytes.max(0.0) as u64).into_lua_multi(lua),
        Question::Truncated { text, from_end, lines, bytes } => {
            let default = Limits::default();
            let limits = Limits { lines: lines.unwrap_or(default.lines), bytes: bytes.unwrap_or(default.bytes) };
            let truncate = if from_end { truncate::truncate_tail } else { truncate::truncate_head };
            convert::to_lua(lua, &truncate(&text, limits))?.into_lua_multi(lua)
        }
        Question::Section { text, heading } => {
            let line = locate_section(&text.to_string(), &heading.to_string());
            line.map_err(|problem| problem.to_string()).into_lua_multi(lua)
        }
    })
}
