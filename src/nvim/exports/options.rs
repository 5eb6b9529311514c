//! Options, and what the user sets while Neovim runs.

use std::path::Path;

use mlua::{Function, Lua, Table, Value};

use super::table::Exports;
use crate::{
    config::LevelFilter,
    model::UserError,
    nvim::{binding::Binding, convert, policies},
    workspace::{Switched, Toggle},
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // setup(options, log_dir) -> the effective options; or nil, problems
    exports.add("setup", |lua, binding, (options, log_dir): (Value, String)| {
        let policy = take_policy(&options)?.map(|function| policies::policy(lua, &binding.shim, function));
        let configured = convert::to_json(lua, options)
            .map_err(|error| vec![UserError::new(format!("setup: {error}"))])
            .and_then(|options| binding.workspace.configure(&options, policy, Path::new(&log_dir)));
        match configured {
            Ok(()) => Ok((effective(lua, binding)?, None)),
            Err(problems) => Ok((Value::Nil, Some(texts(&problems)))),
        }
    })?;
    // options() -> the effective options
    exports.add("options", |lua, binding, ()| effective(lua, binding))?;
    exports.add("forget_frontmatter", |_, binding, ()| {
        binding.workspace.forget_frontmatter();
        Ok(())
    })?;
    // switch(words) -> the effective options, what is in effect now; or nil, problem; or nil, nil, a provider without a
    // model
    exports.add("switch", |lua, binding, words: Vec<String>| {
        Ok(match binding.workspace.switch(&words) {
            Ok(Switched::Done(message)) => (effective(lua, binding)?, Some(message), None),
            Ok(Switched::WantsModel(provider)) => (Value::Nil, None, Some(provider.name())),
            Err(problem) => (Value::Nil, Some(problem.to_string()), None),
        })
    })?;
    // switch_words(words, lead) -> the words that may come next
    exports.add("switch_words", |_, binding, (words, lead): (Vec<String>, String)| {
        Ok(binding.workspace.switch_words(&words, &lead))
    })?;
    // recipients() -> { words, label } for each provider and preset
    exports.add("recipients", |lua, binding, ()| {
        let items = binding.workspace.recipients().into_iter().map(|(words, label)| {
            let item = lua.create_table()?;
            item.set("words", words)?;
            item.set("label", label)?;
            Ok(item)
        });
        convert::list(lua, items)
    })?;
    // models(provider, callback): calls back with the names of models, or nil and why there are none
    exports.add("models", |_, binding, (provider, callback): (String, Function)| {
        binding.workspace.models(&provider, binding.functions.keep(callback));
        Ok(())
    })?;
    // set_option(option, enabled) -> the effective options, what is in effect now; or nil, problem
    exports.add("set_option", |lua, binding, (option, is_enabled): (String, bool)| {
        let Some(toggle) = Toggle::of(&option) else {
            return Ok((Value::Nil, format!("`{option}` cannot be set at run time")));
        };
        match binding.workspace.set(toggle, is_enabled) {
            Ok(message) => Ok((effective(lua, binding)?, message)),
            Err(problem) => Ok((Value::Nil, problem.to_string())),
        }
    })?;
    // autopilot(buffer) -> whether this conversation goes on by itself, as a sentence
    exports.add("autopilot", |_, binding, buffer: i32| {
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation.map(|conversation| binding.workspace.autopilot(&conversation)))
    })?;
    exports.add("log_path", |_, binding, ()| Ok(binding.workspace.log_path()))?;
    // log(level, line): writes to the log, if there is one
    exports.add("log", |_, binding, (level, line): (String, mlua::LuaString)| {
        let level = match level.as_str() {
            "debug" => LevelFilter::Debug,
            "warn" => LevelFilter::Warn,
            "error" => LevelFilter::Error,
            _ => LevelFilter::Info,
        };
        binding.workspace.log_line(level, &line.to_string_lossy());
        Ok(())
    })
}

/// Errors as Lua shows them.
fn texts(errors: &[UserError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn effective(lua: &Lua, binding: &Binding) -> mlua::Result<Value> {
    convert::to_lua(lua, &*binding.workspace.config())
}

/// `tools.auto_approve` where it is a function: that is no data, so it is taken out of the options.
fn take_policy(options: &Value) -> mlua::Result<Option<Function>> {
    let Some(Value::Table(tools)) = options.as_table().map(|table| table.get::<Value>("tools")).transpose()? else {
        return Ok(None);
    };
    take_function(&tools, "auto_approve")
}

fn take_function(table: &Table, name: &str) -> mlua::Result<Option<Function>> {
    match table.get::<Value>(name)? {
        Value::Function(function) => {
            table.set(name, Value::Nil)?;
            Ok(Some(function))
        }
        _ => Ok(None),
    }
}
