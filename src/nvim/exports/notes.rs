//! Pages of notes, for the tool that the editor answers and for tools written in Lua.

use mlua::{BString, Function, LuaString, Table, Value};

use super::table::Exports;
use crate::nvim::convert;
use flemma_model::{CallId, UserError};
use flemma_tools::builtin::{PageRequest, patch_frontmatter};

/// What `use_pages` takes.
type Using = (i32, LuaString, u64, Table, Function);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // use_pages(buffer, call, run, request, callback): what a tool asks of the notes (`PageRequest`). Calls back with the answer, or with nil and
    // what is wrong.
    exports.add("use_pages", |lua, binding, (buffer, call, run, request, callback): Using| {
        let callback = binding.functions.keep(callback);
        let request = convert::to_json(lua, Value::Table(request)).map_err(|error| convert::words(&error));
        let request = request
            .and_then(|request| serde_json::from_value::<PageRequest>(request).map_err(|error| error.to_string()));
        let request = match request {
            Ok(request) => request,
            Err(problem) => {
                binding.workspace.shared.scripts.answered(callback, Err(UserError::new(problem)));
                return Ok(());
            }
        };
        let run = (buffer, &CallId(call.to_string_lossy()), run);
        binding.workspace.execution.use_pages(run, request, move |execution, answer| {
            execution.shared.scripts.answered(callback, answer);
        });
        Ok(())
    })?;
    // patch_frontmatter(content, patches) -> the content with other frontmatter; or nil and what is wrong
    exports.add("patch_frontmatter", |lua, _, (content, patches): (LuaString, Table)| {
        let mut keys = Vec::new();
        for patch in patches.sequence_values::<Table>() {
            let patch = patch?;
            let key = patch.get::<LuaString>("path")?.to_string_lossy();
            let is_deleted = patch.get::<LuaString>("op")?.as_bytes() == b"delete-key";
            let value = (!is_deleted).then(|| convert::to_json(lua, patch.get("value")?)).transpose()?;
            keys.push((key, value));
        }
        let patched = patch_frontmatter(&content.as_bytes(), keys);
        Ok(patched.map(BString::from).map_err(|problem| problem.to_string()))
    })
}
