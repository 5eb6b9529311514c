//! What calls that wait would write: the whole of it, and what the user takes of it.

use mlua::{Function, LuaString, Table, Value};

use super::{super::review_table, table::Exports};
use crate::{model::CallId, text::hunk_rows::HunkRoom, workspace::Taken};

/// What `review_accept` takes.
type Accepting = (i32, LuaString, LuaString, Table, Function);

/// What `review_keep` takes.
type Keeping = (i32, LuaString, LuaString, Table, bool);

/// What `hunk_rows` takes.
type Drawing = (LuaString, LuaString, Option<Vec<usize>>, Table, Function);

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
    // review_keep(buffer, call, revision, contents, has_conflict) -> whether that is kept: the user has made this of it, as in
    // `review_accept`
    exports.add("review_keep", |_, binding, (buffer, call, revision, contents, has_conflict): Keeping| {
        let taken =
            contents.sequence_values::<Value>().map(|taken| taken.and_then(read)).collect::<mlua::Result<_>>()?;
        let call = CallId(call.to_string_lossy());
        Ok(binding.workspace.keep_made(buffer, &call, &revision.to_string_lossy(), taken, has_conflict))
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
        binding.workspace.draw_hunks(contents, places, room, callback);
        Ok(())
    })?;
    // check_proposals(): files may have changed
    exports.add("check_proposals", |_, binding, ()| {
        binding.workspace.check_proposals();
        Ok(())
    })
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
