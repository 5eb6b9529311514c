//! What calls would write: the whole of it, and what the user takes of it.

use mlua::{Function, LuaString, Table, Value};

use super::table::Exports;
use crate::nvim::{convert, review_table};
use flemma_model::CallId;
use flemma_text::hunk_rows::HunkRoom;
use flemma_workspace::WantedWrite;

/// What `hunk_rows` takes.
type Drawing = (LuaString, LuaString, Option<Vec<usize>>, Value, Function);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // review(buffer, call, callback): calls back with a table as in `flemma.ReviewedChange`, or with nil and why there is none
    exports.add("review", |_, binding, (buffer, call, callback): (i32, LuaString, Function)| {
        let callback = binding.functions.keep(callback);
        binding.workspace.reviews.review(buffer, &CallId(call.to_string_lossy()), move |reviews, reviewed| {
            reviews.shared.scripts.reviewed(callback, reviewed);
        });
        Ok(())
    })?;
    // hunk_rows(old, new, hunks, room, callback): how the hunks between two contents are drawn. `hunks` is a list as in `flemma.ReviewedFile`,
    // or nil for contents that have to be compared. `room` is as in `flemma.HunkRoom`. Calls back with `flemma.DrawnHunks`.
    exports.add("hunk_rows", |_, binding, (old, new, hunks, room, callback): Drawing| {
        let room: HunkRoom = convert::read_as(room).map_err(mlua::Error::external)?;
        let contents = [old, new].map(|content| content.as_bytes().to_vec());
        let places = hunks.map(|hunks| review_table::read_places(&hunks));
        let callback = binding.functions.keep(callback);
        binding.workspace.reviews.draw_hunks(contents, places, room, callback);
        Ok(())
    })?;
    // propose_write(buffer, run, files, callback): a tool that runs wants files to have these contents. A run has the id of its `call` and a `number`, a
    // file has a `name`, `is_page` and the `content`. Calls back with the outcome, or with nil and why nothing was
    // written. Returns whether somebody may have to decide.
    exports.add("propose_write", |_, binding, (buffer, run, files, callback): (i32, Table, Table, Function)| {
        let call = CallId(run.get::<LuaString>("call")?.to_string_lossy());
        let files: mlua::Result<Vec<WantedWrite>> = files
            .sequence_values::<Table>()
            .map(|file| {
                let file = file?;
                Ok(WantedWrite {
                    name: file.get::<LuaString>("name")?.to_string_lossy(),
                    is_page: file.get("is_page")?,
                    content: file.get::<LuaString>("content")?.as_bytes().to_vec(),
                })
            })
            .collect();
        let (number, files) = (run.get("number")?, files?);
        let callback = binding.functions.keep(callback);
        Ok(binding.workspace.execution.propose_write(buffer, &call, number, files, callback))
    })
}
