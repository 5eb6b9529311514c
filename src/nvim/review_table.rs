//! What a call would write, as a Lua table. The contents of files are bytes.

use std::sync::Arc;

use mlua::{Lua, Table};

use crate::workspace::{Reviewed, ReviewedFile};

/// The table that `review` calls back with.
pub(super) fn review(lua: &Lua, reviewed: &Reviewed) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("call_id", reviewed.call.0.as_str())?;
    table.set("tool", reviewed.tool.as_str())?;
    table.set("revision", reviewed.revision.as_str())?;
    let files = reviewed.files.iter().map(|reviewed| file(lua, reviewed)).collect::<mlua::Result<Vec<_>>>()?;
    table.set("files", files)?;
    Ok(table)
}

fn file(lua: &Lua, file: &ReviewedFile) -> mlua::Result<Table> {
    let content = |bytes: &Option<Arc<Vec<u8>>>| bytes.as_ref().map(|bytes| lua.create_string(&**bytes)).transpose();
    let table = lua.create_table()?;
    table.set("path", file.path.as_str())?;
    table.set("name", file.name.as_str())?;
    table.set("old", content(&file.old)?)?;
    table.set("new", content(&file.new)?)?;
    table.set("old_size", file.old_size)?;
    table.set("new_size", file.new_size)?;
    table.set("moved_to", file.moved_to.as_deref())?;
    table.set("after", file.after.as_deref())?;
    table.set("note", file.note)?;
    Ok(table)
}
