//! What calls that wait would write: the whole of it, and what the user takes of it.

use mlua::{BorrowedBytes, Function, Lua, LuaString, Table, Value};

use super::table::Exports;
use crate::{
    model::CallId,
    text::hunk_lines::{HunkRoom, HunkRows},
    workspace::Taken,
};

/// What `review_accept` takes.
type Accepting = (i32, LuaString, LuaString, Table, Function);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // review(buffer, call, callback): calls back with a table as in `flemma.ReviewedChange`, or with nil and why there is none
    exports.add("review", |_, binding, (buffer, call, callback): (i32, LuaString, Function)| {
        let callback = binding.functions.keep(callback);
        binding.workspace.review(buffer, &CallId(call.to_string_lossy()), move |workspace, reviewed| {
            workspace.give_review(callback, reviewed);
        });
        Ok(())
    })?;
    // review_accept(buffer, call, revision, contents, callback): `contents` has for each file its content, true (as proposed) or false (left as
    // it is). Calls back with nothing, or with why nothing was approved.
    exports.add("review_accept", |_, binding, (buffer, call, revision, contents, callback): Accepting| {
        let taken =
            contents.sequence_values::<Value>().map(|taken| taken.and_then(read)).collect::<mlua::Result<_>>()?;
        let (call, revision) = (CallId(call.to_string_lossy()), revision.to_string_lossy());
        let callback = binding.functions.keep(callback);
        binding.workspace.accept(buffer, &call, &revision, taken, move |workspace, accepted| {
            workspace.give_verdict(callback, accepted.err());
        });
        Ok(())
    })?;
    // hunk_rows(hunks, width, rows, wraps): for each hunk `{ old, new }` of lines with their line breaks how it is drawn in rows of
    // `width` cells, at most `rows` for a line: `{ old, new, same }` as in `flemma.HunkRows`. `wraps` is that of the file's window.
    exports.add(
        "hunk_rows",
        |lua, _, (hunks, width, rows, wraps): (Vec<[Vec<LuaString>; 2]>, usize, usize, bool)| {
            let hunks: Vec<_> = hunks.iter().map(|[old, new]| (borrowed(old), borrowed(new))).collect();
            let hunks: Vec<_> = hunks.iter().map(|(old, new)| (bytes(old), bytes(new))).collect();
            let drawn = HunkRows::of(&hunks, HunkRoom { width, rows, wraps });
            drawn.into_iter().map(|rows| hunk(lua, rows)).collect::<mlua::Result<Vec<_>>>()
        },
    )?;
    // check_proposals(): files may have changed
    exports.add("check_proposals", |_, binding, ()| {
        binding.workspace.check_proposals();
        Ok(())
    })
}

fn borrowed(lines: &[LuaString]) -> Vec<BorrowedBytes> {
    lines.iter().map(LuaString::as_bytes).collect()
}

fn bytes(lines: &[BorrowedBytes]) -> Vec<&[u8]> {
    lines.iter().map(|line| &**line).collect()
}

fn hunk(lua: &Lua, rows: HunkRows) -> mlua::Result<Table> {
    // A list with nil would not keep its places.
    let places =
        |lines: Vec<Option<String>>| -> Vec<String> { lines.into_iter().map(Option::unwrap_or_default).collect() };
    let table = lua.create_table()?;
    table.set("old", places(rows.old))?;
    table.set("new", rows.new)?;
    table.set("same", places(rows.same))?;
    Ok(table)
}

fn read(taken: Value) -> mlua::Result<Taken> {
    match taken {
        Value::Boolean(true) => Ok(Taken::Proposed),
        Value::Boolean(false) => Ok(Taken::Left),
        Value::String(content) => Ok(Taken::Content(content.as_bytes().to_vec())),
        other => {
            Err(mlua::Error::runtime(format!("a content must be a string or a boolean, not a {}", other.type_name())))
        }
    }
}
