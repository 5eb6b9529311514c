//! Writes a conversation's file: the Rust side of `lua/flemma/buffer/saving.lua`.

use std::path::PathBuf;

use mlua::{Table, Value};
use nvim_oxi::api::Buffer;
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;
use flemma_workspace::FileLayout;

/// When the file is written.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum When {
    // In the background; `saved` of the shim hears of its end. `tick` is the buffer's count of changes.
    Later { tick: i64 },
    // Before this returns. If `is_forced`, also over the changes of others.
    Now { is_forced: bool },
}

/// What `save` takes.
type Saving = (i32, PathBuf, Table, Option<bool>, String, Table);

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // save(buffer, path, layout, is_known, when, fields) -> what went wrong, or nil. `is_known`: Neovim knows the file as it is now.
    exports.add("save", |lua, binding, (buffer, path, layout, is_known, when, fields): Saving| {
        let (name, workspace) = (path.file_name().unwrap_or_default().display().to_string(), &binding.workspace);
        if !Buffer::from(buffer).is_loaded() {
            return Ok(Some(format!("{name} was not written: its buffer is not loaded")));
        }
        if is_known == Some(true) {
            workspace.saving.file_is_known(buffer, &path);
        }
        let layout: FileLayout = convert::read_as(Value::Table(layout)).map_err(mlua::Error::external)?;
        Ok(match convert::variant(lua, &when, Some(fields))? {
            When::Later { tick } => {
                let is_begun = workspace.saving.save(buffer, path, layout, tick);
                (!is_begun).then(|| format!("{name} was not written: the system could not start a thread."))
            }
            When::Now { is_forced } => {
                workspace.saving.save_now(buffer, path, layout, is_forced).err().map(|error| error.to_string())
            }
        })
    })
}
