//! What tools need that were written for another plugin.

use std::collections::BTreeMap;

use mlua::{Lua, LuaString, MultiValue, Table, Value};

use super::table::Exports;
use crate::{
    compat::{self, Filled},
    model::{ModelError, UserError},
    nvim::convert,
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // xml_schema(example) -> the JSON Schema of a tool; or nil and what is wrong with the example
    exports.add("xml_schema", |lua, _, example: Value| {
        let schema = json(lua, example).and_then(|example| compat::xml_schema(&example));
        schema.map_or_else(
            |problem| refused(lua, &problem),
            |schema| multi(convert::from_json(lua, &schema)?, Value::Nil),
        )
    })?;
    // to_xml(value, name or nil) -> its XML; or nil and what cannot be written
    exports.add("to_xml", |lua, _, (value, name): (Value, Option<String>)| {
        let xml = json(lua, value).and_then(|value| compat::to_xml(&value, name.as_deref()));
        xml.map_or_else(
            |problem| refused(lua, &problem),
            |xml| multi(Value::String(lua.create_string(xml)?), Value::Nil),
        )
    })?;
    // fill_template(text or list, values, "word" or "shell") -> the same filled, a table of variables that it needs in its
    // environment; or nil and why not. A list is the arguments of a program: a script for a shell among them is filled as
    // "shell", the others as "word", whatever the third argument is.
    exports.add("fill_template", |lua, _, (template, values, mode): (Value, Table, Option<String>)| {
        let values = read_values(&values);
        match (template, mode.as_deref()) {
            (Value::String(text), Some("shell")) => {
                let filled = compat::fill_script(&text.as_bytes(), &values);
                answer(lua, filled, |text| Ok(Value::String(lua.create_string(text)?)))
            }
            (Value::String(text), _) => {
                let text = lua.create_string(compat::fill_words(&text.as_bytes(), &values))?;
                multi(Value::String(text), Value::Table(lua.create_table()?))
            }
            (Value::Table(argv), _) => {
                let argv: Vec<_> = argv.sequence_values::<LuaString>().collect::<mlua::Result<_>>()?;
                let argv: Vec<_> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
                answer(lua, compat::fill_arguments(&argv, &values), |argv| {
                    let argv = argv.iter().map(|word| lua.create_string(word)).collect::<mlua::Result<Vec<_>>>()?;
                    Ok(Value::Table(lua.create_sequence_from(argv)?))
                })
            }
            (other, _) => {
                let problem = format!("a template must be a string or a list, not a {}", other.type_name());
                refused(lua, &problem)
            }
        }
    })
}

/// The values that a text can have: strings, numbers and truth values.
fn read_values(table: &Table) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let text = |value| match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Integer(number) => Some(number.to_string().into_bytes()),
        Value::Number(number) => Some(number.to_string().into_bytes()),
        Value::Boolean(switch) => Some(switch.to_string().into_bytes()),
        _ => None,
    };
    let pairs = table.pairs::<Value, Value>().flatten();
    pairs.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

fn answer<T>(
    lua: &Lua,
    filled: Result<Filled<T>, ModelError>,
    write: impl FnOnce(T) -> mlua::Result<Value>,
) -> mlua::Result<MultiValue> {
    match filled {
        Ok(Filled { text, env }) => {
            let table = lua.create_table()?;
            for (name, value) in env {
                table.set(name, lua.create_string(value)?)?;
            }
            multi(write(text)?, Value::Table(table))
        }
        Err(problem) => refused(lua, &problem),
    }
}

fn json(lua: &Lua, value: Value) -> Result<serde_json::Value, UserError> {
    convert::to_json(lua, value).map_err(|error| UserError::new(convert::words(&error)))
}

fn refused(lua: &Lua, problem: &impl ToString) -> mlua::Result<MultiValue> {
    multi(Value::Nil, Value::String(lua.create_string(problem.to_string())?))
}

fn multi(first: Value, second: Value) -> mlua::Result<MultiValue> {
    Ok(MultiValue::from_vec(vec![first, second]))
}
