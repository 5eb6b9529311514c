//! What tools in Lua use: commands, and pages of notes.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

use mlua::{BString, Function, LuaString, Table, Value};

use super::table::Exports;
use crate::nvim::convert;
use flemma_model::{CallId, ModelError, UserError};
use flemma_tools::{
    builtin::{PageRequest, patch_frontmatter},
    command::CommandRequest,
};

/// What `use_pages` takes.
type Using = (i32, LuaString, u64, Table, Function);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // run_command(command, on_end) -> the function that stops it. A command is { argv = list } or { shell = text }, with
    // cwd and env (added to the environment); on_end gets { code, signal, stdout, stderr, stopped, problem }
    exports.add("run_command", |lua, binding, (command, on_end): (Table, Function)| {
        let stop = binding.workspace.execution.run_command(request(&command), binding.functions.keep(on_end));
        lua.create_function(move |_, ()| {
            stop.cancel();
            Ok(())
        })
    })?;
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

/// Reads a command.
fn request(command: &Table) -> Result<CommandRequest, ModelError> {
    let field = |name: &str| command.get::<Value>(name).unwrap_or(Value::Nil);
    let argv = match (field("argv"), field("shell")) {
        (Value::Table(argv), Value::Nil) => {
            let words = argv.sequence_values::<Value>().enumerate();
            words
                .map(|(at, word)| text(&format!("argv[{}]", at + 1), word.unwrap_or(Value::Nil)))
                .collect::<Result<_, _>>()?
        }
        (Value::Nil, script @ Value::String(_)) => CommandRequest::shell(&text("shell", script)?),
        _ => return Err(wrong("give it `argv`, a list, or `shell`, a text")),
    };
    let cwd = match field("cwd") {
        Value::Nil => None,
        cwd => Some(PathBuf::from(text("cwd", cwd)?)),
    };
    let env = match field("env") {
        Value::Nil => Vec::new(),
        Value::Table(env) => {
            let pair = |pair: mlua::Result<(Value, Value)>| {
                let (name, value) = pair.map_err(|error| wrong(&error.to_string()))?;
                let name = text("a name in env", name)?;
                let value = text(&format!("env.{}", name.display()), value)?;
                Ok((name, value))
            };
            env.pairs::<Value, Value>().map(pair).collect::<Result<_, _>>()?
        }
        other => return Err(wrong(&format!("`env` must be a table, not a {}", other.type_name()))),
    };
    Ok(CommandRequest { argv, cwd, env, keep_env: Vec::new() })
}

/// A value that can be a word of a command.
fn text(name: &str, value: Value) -> Result<OsString, ModelError> {
    let text = convert::plain(&value).map(OsString::from_vec);
    text.ok_or_else(|| wrong(&format!("`{name}` must be a string, not a {}", value.type_name())))
}

fn wrong(what: &str) -> ModelError {
    ModelError::new(format!("The command was not started: {what}."))
}
