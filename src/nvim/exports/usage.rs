//! What conversations have used.

use mlua::{IntoLuaMulti, Table};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;

/// What is asked about what was used.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    // A table as in `flemma.Totals`, of one or of all conversations.
    Totals { buffer: Option<i32> },
    // Tables as in `flemma.Usage`.
    Requests,
    // The lines of `:Flemma usage`, and the cells that a line may take.
    Page { buffer: i32, width: usize },
}

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // usage(what, fields or nil) -> what `Question` says of it
    exports.add("usage", |lua, binding, (what, fields): (String, Option<Table>)| {
        let workspace = &binding.workspace;
        match convert::variant(lua, &what, fields)? {
            Question::Totals { buffer } => convert::to_lua(lua, &workspace.usage.totals(buffer))?.into_lua_multi(lua),
            Question::Requests => convert::to_lua(lua, &workspace.usage.records())?.into_lua_multi(lua),
            Question::Page { buffer, width } => workspace.usage.usage_lines(buffer, width).into_lua_multi(lua),
        }
    })
}
