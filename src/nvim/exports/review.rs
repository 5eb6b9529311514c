//! What calls that wait would write: the whole of it, and what the user takes of it.

use mlua::{Function, LuaString, Table, Value};

use super::table::Exports;
use crate::{model::CallId, workspace::Taken};

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
