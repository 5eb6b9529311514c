//! Pages of notes, for the tool that the editor answers.

use std::os::unix::ffi::OsStrExt;

use mlua::{LuaString, Value};

use super::table::Exports;
use crate::tools::builtin::locate_section;

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // page_file(buffer, page) -> the path of its file; or nil and what is wrong
    exports.add("page_file", |lua, binding, (buffer, page): (i32, LuaString)| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok((Value::Nil, None)) };
        Ok(match binding.workspace.page_file(&conversation, &page.to_string_lossy()) {
            Ok(path) => (Value::String(lua.create_string(path.as_os_str().as_bytes())?), None),
            Err(problem) => (Value::Nil, Some(problem.to_string())),
        })
    })?;
    // section_line(text, heading) -> the line of the heading, from 1; or nil and what is wrong
    exports.add("section_line", |_, _, (text, heading): (LuaString, LuaString)| {
        Ok(match locate_section(&text.to_string_lossy(), &heading.to_string_lossy()) {
            Ok(line) => (Some(line), None),
            Err(problem) => (None, Some(problem.to_string())),
        })
    })
}
