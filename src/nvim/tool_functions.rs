//! The small functions of a definition besides `execute`: what they are given, and what their answers mean.

use mlua::{Lua, Table, Value};

use super::convert::table;
use flemma_tools::LuaError;
use flemma_workspace::ports::CallContext;

/// The table that says which call a function is asked about.
pub(super) fn about(lua: &Lua, context: CallContext<'_>) -> mlua::Result<Table> {
    Ok(table!(lua, bufnr: context.buffer, call_id: context.call.0.as_str()))
}

/// A function has thrown this.
pub(super) fn failed(thrown: LuaError) -> LuaError {
    LuaError::new(format!("failed: {thrown}"))
}

/// A text, or nothing for nil. `Err` goes on after the name of the field, as those below.
pub(super) fn text(answer: &Value) -> Result<Option<String>, LuaError> {
    match answer {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.to_string_lossy())),
        other => Err(LuaError::new(format!("returned a {}, not a string", other.type_name()))),
    }
}

/// `true` or `false`; nil is `false`, as everywhere in Lua.
pub(super) fn switch(answer: &Value) -> Result<bool, LuaError> {
    match answer {
        Value::Nil => Ok(false),
        Value::Boolean(switch) => Ok(*switch),
        other => Err(LuaError::new(format!("returned a {}, not true or false", other.type_name()))),
    }
}
