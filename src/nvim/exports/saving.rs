//! Writes a conversation's file: the Rust side of `lua/flemma/saving.lua`.

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
    // on_disk(buffer, path or nil): the file of this name has the buffer's text, or something else has changed it
    exports.add("on_disk", |_, binding, (buffer, path): (i32, Option<PathBuf>)| {
        binding.workspace.on_disk(buffer, path);
        Ok(())
    })?;
    // unmodified(buffer, path, layout): Neovim calls the buffer unmodified
    exports.add("unmodified", |_, binding, (buffer, path, layout): (i32, PathBuf, Table)| {
        if Buffer::from(buffer).is_loaded() {
            binding.workspace.note_unmodified(buffer, path, layout_of(&layout)?);
        }
        Ok(())
    })?;
    // is_on_disk(buffer) -> whether the file is as it was last seen
    exports.add("is_on_disk", |_, binding, buffer: i32| Ok(binding.workspace.is_on_disk(buffer)))?;
    // save(buffer, path, layout, tick) -> whether it was begun; `saved` of the shim hears of its end, and calls `landed`
    exports.add("save", |_, binding, (buffer, path, layout, tick): (i32, PathBuf, Table, i64)| {
        Ok(Buffer::from(buffer).is_loaded() && binding.workspace.save(buffer, path, layout_of(&layout)?, tick))
    })?;
    exports.add("landed", |_, binding, buffer: i32| {
        binding.workspace.landed(buffer);
        Ok(())
    })?;
    // is_replying(buffer) -> whether a reply is arriving, so that the text ends with an incomplete one
    exports.add("is_replying", |_, binding, buffer: i32| Ok(binding.workspace.is_replying(buffer)))?;
    // save_now(buffer, path, layout, forced) -> what went wrong, or nil
    exports.add("save_now", |_, binding, (buffer, path, layout, is_forced): (i32, PathBuf, Table, bool)| {
        if !Buffer::from(buffer).is_loaded() {
            return Ok(Some(format!("{} was not written: its buffer is not loaded", path.display())));
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
