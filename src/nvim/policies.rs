//! Lua functions that decide about calls: see [`flemma_workspace`] on policies and resolvers.

use std::{cell::OnceCell, rc::Rc};

use mlua::{Function, Value};

use super::{
    convert::{self, table},
    shim::Shim,
};
use flemma_tools::{
    LuaError,
    approval::{ApprovalCall, Decision, Resolve},
};

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Limits {
    /// None: it is part of the user's configuration.
    None,
    /// Those of the code of a file.
    OfFiles,
}

/// A policy: the function gets the tool's name, the input, and a table with `bufnr` and `tool_id`.
pub(super) fn policy(shim: &Rc<Shim>, function: Function, limits: Limits) -> Resolve {
    let shim = Rc::clone(shim);
    Rc::new(move |call| own_decision(ask(&shim, &function, call, limits)))
}

/// A policy in a module: a function, or a table with `resolve`. The module is loaded when the policy is first asked.
pub(super) fn module(shim: &Rc<Shim>, module: &str) -> Resolve {
    let (shim, name, loaded) = (Rc::clone(shim), module.to_owned(), OnceCell::new());
    Rc::new(move |call| {
        let load = || -> Result<Function, LuaError> {
            let require: Function = shim.lua.globals().get("require").map_err(|error| convert::lua_error(&error))?;
            match require.call::<Value>(name.as_str()).map_err(|error| convert::lua_error(&error))? {
                Value::Function(function) => Ok(function),
                Value::Table(table) => {
                    table.get::<Function>("resolve").map_err(|_| LuaError::new("it has no function `resolve`"))
                }
                other => Err(LuaError::new(format!(
                    "it is a {}, not a function or a table with `resolve`",
                    other.type_name()
                ))),
            }
        };
        let function = loaded.get_or_init(load).clone().map_err(|error| LuaError::new(format!("failed: {error}")))?;
        own_decision(ask(&shim, &function, call, Limits::None))
    })
}

/// A plugin's resolver.
pub(super) fn resolver(shim: &Rc<Shim>, function: Function) -> Resolve {
    let shim = Rc::clone(shim);
    Rc::new(move |call| {
        let answer = ask(&shim, &function, call, Limits::None).map_err(|error| convert::lua_error(&error))?;
        meaning(&answer, &WORDS)
    })
}

/// What the answer of a policy means; `Err` goes on after the policy's name.
fn own_decision(answer: mlua::Result<Value>) -> Result<Option<Decision>, LuaError> {
    match answer {
        Ok(Value::Boolean(true)) => Ok(Some(Decision::Approve)),
        Ok(Value::Boolean(false)) => Ok(Some(Decision::RequireApproval)),
        Ok(value) => meaning(&value, &WORDS),
        Err(error) => Err(LuaError::new(format!("failed: {}", convert::words(&error)))),
    }
}

/// What a word means; nothing for nil.
pub(super) fn meaning<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<Option<T>, LuaError> {
    let word = match value {
        Value::Nil => return Ok(None),
        Value::String(word) => word.to_string_lossy(),
        other => {
            let shown = other.to_string().unwrap_or_default();
            return Err(LuaError::new(format!("returned {shown}, a {}", other.type_name())));
        }
    };
    let known = words.iter().find(|(known, _)| *known == word);
    known.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| LuaError::new(format!("returned \"{word}\"")))
}

const WORDS: [(&str, Decision); 3] =
    [("approve", Decision::Approve), ("require_approval", Decision::RequireApproval), ("deny", Decision::Deny)];

/// A decision as Lua says it.
pub(super) fn word(decision: Decision) -> &'static str {
    WORDS.iter().find(|(_, known)| *known == decision).map_or("", |(word, _)| word)
}

fn ask(shim: &Shim, function: &Function, call: &ApprovalCall<'_>, limits: Limits) -> mlua::Result<Value> {
    let context = table!(shim.lua, bufnr: call.buffer, tool_id: call.id.0.as_str());
    let arguments = (call.tool, convert::from_json(&shim.lua, call.input)?, context);
    match limits {
        Limits::None => function.call(arguments),
        Limits::OfFiles => shim.guarded("guard", (function, arguments)),
    }
}
