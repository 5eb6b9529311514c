//! Writes a conversation's file: the Rust side of `lua/flemma/buffer/saving.lua`.

use std::path::PathBuf;

use mlua::Table;
use nvim_oxi::api::Buffer;

use super::table::Exports;
use crate::workspace::{FileLayout, LineBreak};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // saved(buffer, path): what is trusted in it stays so
    exports.add("saved", |_, binding, (buffer, path): (i32, String)| {
        binding.workspace.saved(buffer, path);
        Ok(())
    })?;
    // on_disk(buffer, path): Neovim has read or written the file of this name, which has the buffer's text
    exports.add("on_disk", |_, binding, (buffer, path): (i32, PathBuf)| {
        binding.workspace.on_disk(buffer, &path);
        Ok(())
    })?;
    // save(buffer, path, layout, tick, is_known) -> whether it was begun; `saved` of the shim hears of its end. `is_known`:
    // Neovim knows the file as it is now.
    exports.add("save", |_, binding, args: (i32, PathBuf, Table, i64, Option<bool>)| {
        let (buffer, path, layout, tick, is_known) = args;
        if is_known == Some(true) {
            binding.workspace.file_is_known(buffer, &path);
        }
        Ok(Buffer::from(buffer).is_loaded() && binding.workspace.save(buffer, path, layout_of(&layout)?, tick))
    })?;
    // save_now(buffer, path, layout, forced, is_known) -> what went wrong, or nil
    exports.add("save_now", |_, binding, args: (i32, PathBuf, Table, bool, Option<bool>)| {
        let (buffer, path, layout, is_forced, is_known) = args;
        if !Buffer::from(buffer).is_loaded() {
            return Ok(Some(format!("{} was not written: its buffer is not loaded", path.display())));
        }
        if is_known == Some(true) {
            binding.workspace.file_is_known(buffer, &path);
        }
        let saved = binding.workspace.save_now(buffer, path, layout_of(&layout)?, is_forced);
        Ok(saved.err().map(|error| error.to_string()))
    })
}

/// What the options of a buffer say about its file.
fn layout_of(options: &Table) -> mlua::Result<FileLayout> {
    let format: String = options.get("format")?;
    Ok(FileLayout {
        line_break: match format.as_str() {
            "dos" => LineBreak::Dos,
            "mac" => LineBreak::Mac,
            _ => LineBreak::Unix,
        },
        byte_order_mark: options.get("byte_order_mark")?,
        end_of_line: options.get("end_of_line")?,
        end_of_file: options.get("end_of_file")?,
        is_empty: options.get("is_empty")?,
    })
}
