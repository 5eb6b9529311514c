//! The tools and their sources.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use mlua::{Function, LuaString, Table, Value};

use super::table::Exports;
use crate::{
    model::CallId,
    nvim::{
        convert,
        lua_tools::{self, Fields},
    },
    tools::{Access, SourceEnd, SourceId},
    workspace::WantedWrite,
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // register_tool(name or nil, definition) -> true, or false, problem
    exports.add("register_tool", |lua, binding, (name, definition): (Option<String>, Table)| {
        let functions = &binding.functions;
        let Fields { entries, kept } = match lua_tools::fields(lua, functions, name.as_deref(), &definition) {
            Ok(read) => read,
            Err(problem) => return Ok((false, Some(problem.to_string()))),
        };
        Ok(match binding.workspace.register_tool(name.as_deref(), entries) {
            Ok(()) => (true, None),
            Err(problem) => {
                kept.into_iter().for_each(|function| functions.release(function));
                (false, Some(problem.to_string()))
            }
        })
    })?;
    exports.add("unregister_tool", |_, binding, name: String| Ok(binding.workspace.unregister_tool(&name)))?;
    exports.add("tool", |lua, binding, name: String| {
        let definition = binding.workspace.tool(&name);
        definition.map(|definition| lua_tools::describe(lua, &binding.functions, &definition)).transpose()
    })?;
    // tools(disabled too) -> the definitions
    exports.add("tools", |lua, binding, disabled_too: bool| {
        let tools = binding.workspace.tools().into_iter().filter(|(_, is_enabled)| disabled_too || *is_enabled);
        let described = tools.map(|(definition, _)| lua_tools::describe(lua, &binding.functions, &definition));
        convert::list(lua, described)
    })?;
    // register_group(name, group) -> true, or false, problem
    exports.add("register_group", |lua, binding, (name, group): (String, Table)| {
        let registered = convert::to_json(lua, Value::Table(group)).map_err(|error| convert::words(&error));
        let registered = registered.and_then(|fields| {
            let fields = fields.as_object().cloned().unwrap_or_default();
            binding.workspace.register_group(&name, &fields).map_err(|problem| problem.to_string())
        });
        Ok(match registered {
            Ok(()) => (true, None),
            Err(problem) => (false, Some(problem)),
        })
    })?;
    exports.add("unregister_group", |_, binding, name: String| Ok(binding.workspace.unregister_group(&name)))?;
    exports.add("groups", |lua, binding, ()| {
        let groups = binding.workspace.groups();
        convert::list(lua, groups.iter().map(|group| convert::from_json(lua, &group.describe())))
    })?;
    exports.add("tool_count", |_, binding, ()| Ok(binding.workspace.tool_count()))?;
    exports.add("tools_ready", |_, binding, ()| Ok(binding.workspace.tools_are_ready()))?;
    exports.add("begin_source", |_, binding, label: LuaString| {
        Ok(binding.workspace.begin_source(label.to_string_lossy()).0)
    })?;
    // end_source(id, why or nil, seconds or nil): complete, failed, or out of time
    exports.add("end_source", |_, binding, (id, why, seconds): (u64, Option<LuaString>, Option<f64>)| {
        let how = match (why, seconds) {
            (Some(why), _) => SourceEnd::Failed(why.to_string_lossy()),
            (None, Some(seconds)) => SourceEnd::TimedOut(seconds),
            (None, None) => SourceEnd::Complete,
        };
        binding.workspace.end_source(SourceId(id), &how);
        Ok(())
    })?;
    // path_problem(buffer, call, "read" or "write", path) -> why the tool of a call may not use a file; nil if it may
    exports.add("path_problem", |_, binding, (buffer, call, access, path): (i32, String, String, LuaString)| {
        let path = PathBuf::from(OsStr::from_bytes(&path.as_bytes()));
        let access = if access == "write" { Access::Write } else { Access::Read };
        let Some(conversation) = binding.workspace.conversation(buffer) else {
            return Ok(Some("The conversation of this call is closed.".to_owned()));
        };
        let problem = binding.workspace.path_problem(&conversation, &CallId(call), access, &path);
        Ok(problem.map(|problem| problem.to_string()))
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
        Ok(binding.workspace.propose_write(buffer, &call, number, files, callback))
    })
}
