//! What tools need that were written for another plugin.

use std::collections::BTreeMap;

use mlua::{BString, IntoLua, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;
use flemma_compat as compat;
use flemma_compat::Filled;
use flemma_model::{ModelError, UserError};

/// What is made of a value.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Xml {
    // The JSON Schema of a tool, from an example of a call.
    Schema,
    // The value in XML, perhaps in an element of this name.
    Text { name: Option<String> },
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // xml(what, value, fields or nil) -> what `Xml` makes of it; or nil and what is wrong with it
    exports.add("xml", |lua, _, (what, value, fields): (String, Value, Option<Table>)| {
        let what = convert::variant(lua, &what, fields)?;
        let made = json(lua, value).and_then(|value| match what {
            Xml::Schema => compat::xml_schema(&value),
            Xml::Text { name } => compat::to_xml(&value, name.as_deref()).map(serde_json::Value::String),
        });
        match made {
            Ok(made) => convert::from_json(lua, &made)?.into_lua_multi(lua),
            Err(problem) => refused(lua, problem),
        }
    })?;
    // fill_template(script or list, values) -> the same filled, a table of variables that it needs in its environment; or nil and why
    // not. A list is the arguments of a program: only a script for a shell among them is filled like one.
    exports.add("fill_template", |lua, _, (template, values): (Value, Table)| {
        let values = read_values(&values);
        match template {
            Value::String(text) => {
                let filled = compat::fill_script(&text.as_bytes(), &values);
                answer(lua, filled, |text| lua.create_string(text))
            }
            Value::Table(argv) => {
                let argv = argv.sequence_values::<LuaString>().map(|word| Ok(word?.as_bytes().to_vec()));
                let filled = compat::fill_arguments(&argv.collect::<mlua::Result<Vec<_>>>()?, &values);
                answer(lua, filled, |argv| convert::list(lua, argv.iter().map(|word| lua.create_string(word))))
            }
            other => refused(lua, format!("a template must be a string or a list, not a {}", other.type_name())),
        }
    })
}

/// The values that a text can have: strings, numbers and truth values.
fn read_values(table: &Table) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pairs = table.pairs::<Value, Value>().flatten();
    pairs.filter_map(|(name, value)| Some((convert::plain(&name)?, convert::plain(&value)?))).collect()
}

fn answer<T, A: IntoLua>(
    lua: &Lua,
    filled: Result<Filled<T>, ModelError>,
    write: impl FnOnce(T) -> mlua::Result<A>,
) -> mlua::Result<MultiValue> {
    match filled {
        Ok(Filled { text, env }) => {
            let env = lua.create_table_from(env.into_iter().map(|(name, value)| (name, BString::from(value))))?;
            (write(text)?, env).into_lua_multi(lua)
        }
        Err(problem) => refused(lua, problem),
    }
}

fn json(lua: &Lua, value: Value) -> Result<serde_json::Value, UserError> {
    convert::to_json(lua, value).map_err(|error| UserError::new(convert::words(&error)))
}

fn refused(lua: &Lua, problem: impl ToString) -> mlua::Result<MultiValue> {
    (Value::Nil, problem.to_string()).into_lua_multi(lua)
}
