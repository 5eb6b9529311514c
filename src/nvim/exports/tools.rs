//! The tools and their sources.

use mlua::{Function, LuaString, Table};

use super::table::Exports;
use flemma_model::CallId;
use flemma_workspace::WantedWrite;

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // begin_source(label) -> its number, for the event "source_ended"
    exports.add("begin_source", |_, binding, label: LuaString| {
        Ok(binding.workspace.shared.toolbox.begin_source(label.to_string_lossy()).0)
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
