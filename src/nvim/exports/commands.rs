//! Commands that tools in Lua run.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

use mlua::{Function, Table, Value};

use super::table::Exports;
use crate::nvim::convert;
use flemma_model::ModelError;
use flemma_tools::command::CommandRequest;

/// Adds `run_command`.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // run_command(command, on_end) -> the function that stops it. A command is { argv = list } or { shell = text }, with
    // cwd and env (added to the environment); on_end gets { code, signal, stdout, stderr, stopped, problem }
    exports.add("run_command", |lua, binding, (command, on_end): (Table, Function)| {
        let stop = binding.workspace.execution.run_command(request(&command), binding.functions.keep(on_end));
        lua.create_function(move |_, ()| {
            stop.cancel();
            Ok(())
        })
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
