//! Conversions between Lua and Rust, in one place.

use mlua::{
    Lua, LuaSerdeExt,
    serde::{DeserializeOptions, SerializeOptions},
};
use serde::Serialize;
use serde_json::Value;

/// A Lua value as JSON.
///
/// # Errors
/// When it holds something that JSON has no word for: a function, a userdata, a table that contains itself.
pub(super) fn to_json(lua: &Lua, value: mlua::Value) -> mlua::Result<Value> {
    lua.from_value_with(value, DeserializeOptions::new().deny_recursive_tables(true))
}

/// What an error says, in one line and without a traceback.
pub(super) fn words(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return words(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}

/// Anything serialisable as a Lua value; what is absent becomes `nil`.
pub(super) fn to_lua<T: Serialize>(lua: &Lua, value: &T) -> mlua::Result<mlua::Value> {
    lua.to_value_with(
        value,
        SerializeOptions::new().serialize_none_to_null(false).serialize_unit_to_null(false).set_array_metatable(false),
    )
}
