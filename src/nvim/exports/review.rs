//! What calls that wait would write: the whole of it, and what the user takes of it.

use mlua::{Function, LuaString, Table};

use super::{super::review_table, table::Exports};
use flemma_model::CallId;
use flemma_text::hunk_rows::HunkRoom;

/// What `hunk_rows` takes.
type Drawing = (LuaString, LuaString, Option<Vec<usize>>, Table, Function);

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
        let room = HunkRoom {
            width: room.get("width")?,
            height: room.get("height")?,
            rows: room.get("rows")?,
            lines: room.get("lines")?,
            wraps: room.get("wraps")?,
            is_dos: room.get("dos")?,
            has_bom: room.get("bom")?,
        };
        let contents = [old, new].map(|content| content.as_bytes().to_vec());
        let places = hunks.map(|hunks| review_table::read_places(&hunks));
        let callback = binding.functions.keep(callback);
        binding.workspace.reviews.draw_hunks(contents, places, room, callback);
        Ok(())
    })
}
