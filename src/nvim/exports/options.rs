//! Options, and what the user sets while Neovim runs.

use std::path::Path;

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Table, Value};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::{
    binding::Binding,
    convert,
    policies::{self, Limits},
};
use flemma_model::UserError;
use flemma_workspace::Switched;

/// What is asked about them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    // { words, label } for each provider and preset that one can switch to.
    Recipients,
    // The words that may come next in `:Flemma switch`.
    Words { words: Vec<String>, lead: String },
    // { level, message } for each line of `:checkhealth flemma` about providers.
    Health { versions: String },
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // setup(options, log_dir) -> the effective options, problems if these were not taken
    exports.add("setup", |lua, binding, (options, log_dir): (Value, String)| {
        let policy = take_policy(&options)?.map(|function| policies::policy(&binding.shim, function, Limits::None));
        let configured = convert::to_json(lua, options)
            .map_err(|error| vec![UserError::new(format!("setup: {error}"))])
            .and_then(|options| binding.workspace.configure(&options, policy, Path::new(&log_dir)));
        let texts = |problems: Vec<UserError>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok((effective(lua, binding)?, configured.err().map(texts)))
    })?;
    // options(what, fields or nil) -> what `Question` says of them
    exports.add("options", |lua, binding, (what, fields): (String, Option<Table>)| {
        match convert::variant(lua, &what, fields)? {
            Question::Recipients => {
                let items = binding.workspace.switches.recipients().into_iter();
                let items = items.map(|(words, label)| lua.create_table_from([("words", words), ("label", label)]));
                convert::list(lua, items)
            }
            Question::Words { words, lead } => {
                convert::list(lua, binding.workspace.switches.switch_words(&words, &lead).into_iter().map(Ok))
            }
            Question::Health { versions } => {
                let findings = binding.workspace.switches.health(&versions);
                convert::list(lua, findings.iter().map(|finding| convert::to_lua(lua, finding)))
            }
        }
    })
}

/// The effective options and what is in effect now; or nil, problem; or nil, nil, a provider without a model.
pub(super) fn switch(lua: &Lua, binding: &Binding, words: &[String]) -> mlua::Result<MultiValue> {
    match binding.workspace.switches.switch(words) {
        Ok(Switched::Done(message)) => (effective(lua, binding)?, message).into_lua_multi(lua),
        Ok(Switched::WantsModel(provider)) => (Value::Nil, Value::Nil, provider.name()).into_lua_multi(lua),
        Err(problem) => (Value::Nil, problem.to_string()).into_lua_multi(lua),
    }
}

/// The effective options.
pub(super) fn effective(lua: &Lua, binding: &Binding) -> mlua::Result<Value> {
    convert::to_lua(lua, &*binding.workspace.shared.config())
}

/// `tools.auto_approve` where it is a function: that is no data, so it is taken out of the options.
fn take_policy(options: &Value) -> mlua::Result<Option<Function>> {
    let Some(Value::Table(tools)) = options.as_table().map(|table| table.get::<Value>("tools")).transpose()? else {
        return Ok(None);
    };
    let Value::Function(function) = tools.get("auto_approve")? else { return Ok(None) };
    tools.set("auto_approve", Value::Nil)?;
    Ok(Some(function))
}
