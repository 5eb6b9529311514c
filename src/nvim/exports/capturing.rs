//! References in the user's message, and asking about code.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use mlua::{BString, IntoLuaMulti, LuaString, Table, Value};

use super::table::Exports;
use crate::{
    chat::LineRange,
    model::UserError,
    nvim::convert,
    workspace::{Asked, AskedAbout, EditorItem, EditorView},
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // looked(buffer, number, views): what the editor shows for the references that `look` was asked for with this number; a table as in
    // `flemma.EditorView` for each
    exports.add("looked", |_, binding, (buffer, number, views): (i32, u64, Table)| {
        let views = views.sequence_values::<Table>().map(|found| {
            let found = &found.map_err(|error| UserError::new(convert::words(&error)))?;
            let problem = text(found, "problem");
            if !problem.is_empty() {
                return Err(UserError::new(problem));
            }
            view(found).map_err(|error| UserError::new(convert::words(&error)))
        });
        binding.workspace.looked(buffer, number, views.collect());
        Ok(())
    })?;
    // is_holder_known(buffer) -> whether it is known which editor holds the conversation of a buffer
    exports.add("is_holder_known", |_, binding, buffer: i32| Ok(binding.workspace.holder(buffer).is_some()))?;

    // ask_about(buffer, question) -> the line, from 0, and the column, in bytes, where the user goes on typing; or the text for a message
    // that is queued, because the conversation is at work; or nil and why nothing was written. `question` has `words`, and `path`,
    // `first` and `last` of lines of a file, or `name`, `language` and `lines` of text
    exports.add("ask_about", |lua, binding, (buffer, question): (i32, Table)| {
        let about = if let Some(lines) = question.get::<Option<Vec<BString>>>("lines")? {
            let lines = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            AskedAbout::Text { name: text(&question, "name"), language: text(&question, "language"), lines }
        } else {
            let lines = LineRange { first: number(&question, "first")?, last: number(&question, "last")? };
            AskedAbout::Lines { path: path(&question, "path"), lines }
        };
        match binding.workspace.ask_about(buffer, &about, &text(&question, "words")) {
            Ok(Asked::Added { line, column }) => (line, column).into_lua_multi(lua),
            Ok(Asked::Later(text)) => text.into_lua_multi(lua),
            Err(problem) => (Value::Nil, problem.to_string()).into_lua_multi(lua),
        }
    })
}

fn view(found: &Table) -> mlua::Result<EditorView> {
    let lines = found.get::<Option<Vec<BString>>>("lines")?.unwrap_or_default();
    let items = found.get::<Option<Table>>("items")?;
    let items = items.iter().flat_map(Table::sequence_values::<Table>).map(|item| {
        let item = &item?;
        Ok(EditorItem {
            name: path(item, "name"),
            line: number(item, "line")?,
            column: number(item, "column")?,
            kind: text(item, "kind"),
            text: text(item, "text"),
        })
    });
    Ok(EditorView {
        name: path(found, "name"),
        is_modified: found.get::<Option<bool>>("is_modified")?.unwrap_or_default(),
        first: number(found, "first")?,
        lines: lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect(),
        total: number(found, "total")?,
        symbol: text(found, "symbol"),
        items: items.collect::<mlua::Result<_>>()?,
        more: number(found, "more")?,
    })
}

/// A text, which need not be valid UTF-8; empty if there is none.
fn text(table: &Table, key: &str) -> String {
    let found = table.get::<Option<LuaString>>(key);
    found.ok().flatten().map(|text| text.to_string_lossy()).unwrap_or_default()
}

fn path(table: &Table, key: &str) -> PathBuf {
    let found = table.get::<Option<LuaString>>(key).ok().flatten();
    found.map(|path| PathBuf::from(OsStr::from_bytes(&path.as_bytes()))).unwrap_or_default()
}

fn number(table: &Table, key: &str) -> mlua::Result<usize> {
    Ok(table.get::<Option<usize>>(key)?.unwrap_or_default())
}
