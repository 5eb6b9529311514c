//! References in the user's message.

use mlua::{BString, Table};

use super::table::Exports;
use crate::nvim::convert;
use flemma_model::UserError;
use flemma_workspace::{EditorItem, EditorView};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // looked(buffer, number, views): what the editor shows for the references that `look` was asked for with this number; a table as in
    // `flemma.EditorView` for each
    exports.add("looked", |_, binding, (buffer, number, views): (i32, u64, Table)| {
        let views = views.sequence_values::<Table>().map(|found| {
            let found = &found.map_err(|error| UserError::new(convert::words(&error)))?;
            let problem = text(found, "problem");
            if !problem.is_empty() {
                return Err(UserError::new(problem.to_string()));
            }
            view(found).map_err(|error| UserError::new(convert::words(&error)))
        });
        binding.workspace.references.looked(buffer, number, views.collect());
        Ok(())
    })
}

fn view(found: &Table) -> mlua::Result<EditorView> {
    let lines = found.get::<Option<Vec<BString>>>("lines")?.unwrap_or_default();
    let items = found.get::<Option<Table>>("items")?;
    let items = items.iter().flat_map(Table::sequence_values::<Table>).map(|item| {
        let item = &item?;
        Ok(EditorItem {
            name: convert::path(text(item, "name")),
            line: number(item, "line")?,
            column: number(item, "column")?,
            kind: text(item, "kind").to_string(),
            text: text(item, "text").to_string(),
        })
    });
    Ok(EditorView {
        name: convert::path(text(found, "name")),
        is_modified: found.get::<Option<bool>>("is_modified")?.unwrap_or_default(),
        first: number(found, "first")?,
        lines: lines.iter().map(ToString::to_string).collect(),
        total: number(found, "total")?,
        symbol: text(found, "symbol").to_string(),
        items: items.collect::<mlua::Result<_>>()?,
        more: number(found, "more")?,
    })
}

/// A text, which need not be valid UTF-8; empty if there is none.
fn text(table: &Table, key: &str) -> BString {
    table.get::<Option<BString>>(key).ok().flatten().unwrap_or_default()
}

fn number(table: &Table, key: &str) -> mlua::Result<usize> {
    Ok(table.get::<Option<usize>>(key)?.unwrap_or_default())
}
