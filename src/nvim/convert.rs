//! Conversions between Lua and Rust, in one place.
//!
//! Lua has one kind of table, and nil is what is not there; JSON has lists, objects and null. A table with the keys
//! 1 to n is a list, any other an object; `vim.NIL` is null, and so is, in a list, what would else leave a hole. The keys of
//! an object are in alphabetical order: a Lua table has none.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

use mlua::{
    BString, IntoLua, Lua, LuaSerdeExt, Table, Value as Lual,
    serde::{Deserializer, SerializeOptions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Number, Value};

use flemma_tools::LuaError;

/// Tables within tables, at most. A table that contains itself has more.
const DEEPEST: usize = 100;

/// How much of a value is converted.
pub(super) struct Room {
    /// Values, those in tables counted one by one.
    values: usize,
    /// Bytes of text.
    bytes: usize,
    /// Whether something was left out.
    is_over: bool,
}

impl Room {
    /// Room for so many values, those in tables counted one by one, with so many bytes of text in them.
    pub(super) const fn new(values: usize, bytes: usize) -> Self {
        Self { values, bytes, is_over: false }
    }

    /// Whether something found no room.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes one more value in; `false` if there is no room for it.
    fn take_value(&mut self) -> bool {
        self.is_over |= self.values == 0;
        self.values = self.values.saturating_sub(1);
        !self.is_over
    }

    /// Takes a text in: how much of it.
    fn take_text(&mut self, length: usize) -> usize {
        let taken = length.min(self.bytes);
        self.is_over |= taken < length;
        self.bytes -= taken;
        taken
    }
}

/// A Lua value as JSON. An empty table is an object, unless its metatable has `__jsontype = "array"`.
///
/// # Errors
/// When it holds something that JSON has no word for; the message says what, and where in the value.
pub(super) fn to_json(lua: &Lua, value: Lual) -> mlua::Result<Value> {
    to_json_within(lua, value, &mut Room::new(usize::MAX, usize::MAX))
}

/// The same, but no more than there is room for: what comes behind is left out, and [`Room::is_over`] says so.
///
/// # Errors
/// As [`to_json`].
pub(super) fn to_json_within(lua: &Lua, value: Lual, room: &mut Room) -> mlua::Result<Value> {
    let null = nil(lua)?;
    let mut path = Vec::new();
    read(value, &null, &mut path, room).map_err(|what| {
        let place = if path.is_empty() { String::new() } else { format!(" at `{}`", path.join(".")) };
        mlua::Error::runtime(format!("it holds {what}{place}"))
    })
}

/// `vim.NIL`.
fn nil(lua: &Lua) -> mlua::Result<Lual> {
    lua.globals().get::<Table>("vim")?.get("NIL")
}

/// What kind of value that is, for messages.
pub(super) fn kind(value: &Lual) -> &'static str {
    match value.type_name() {
        "other" => "cdata",
        name => name,
    }
}

/// On an error `path` is left where it happened.
fn read(value: Lual, null: &Lual, path: &mut Vec<String>, room: &mut Room) -> Result<Value, String> {
    if value == *null || value.is_null() {
        return Ok(Value::Null);
    }
    Ok(match value {
        Lual::Nil => Value::Null,
        Lual::Boolean(switch) => switch.into(),
        Lual::Integer(number) => number.into(),
        Lual::Number(number) => Number::from_f64(number).map(Value::Number).ok_or("a number that is not finite")?,
        Lual::String(text) => read_text(&text.as_bytes(), room)?.into(),
        Lual::Table(table) => read_table(&table, null, path, room)?,
        other => return Err(format!("a {}", kind(&other))),
    })
}

fn read_text(bytes: &[u8], room: &mut Room) -> Result<String, &'static str> {
    let taken = room.take_text(bytes.len());
    match std::str::from_utf8(&bytes[..taken]) {
        Ok(text) => Ok(text.to_owned()),
        // Cut inside its last character.
        Err(error) if taken < bytes.len() && error.error_len().is_none() => {
            Ok(String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned())
        }
        Err(_) => Err("text that is not valid UTF-8"),
    }
}

fn read_table(table: &Table, null: &Lual, path: &mut Vec<String>, room: &mut Room) -> Result<Value, String> {
    if path.len() >= DEEPEST {
        path.truncate(3);
        return Err(format!("a table that contains itself, or is nested more than {DEEPEST} levels deep"));
    }
    let mut read_at = |name: String, value: Lual, room: &mut Room| {
        path.push(name);
        read(value, null, path, room).map(|value| (path.pop().unwrap_or_default(), value))
    };
    let mut list = Vec::new();
    let mut others = Vec::new();
    for pair in table.pairs::<Lual, Lual>() {
        let (key, value) = pair.map_err(|error| words(&error))?;
        if !room.take_value() {
            break;
        }
        let at = list.len() + 1;
        let name = match &key {
            Lual::Integer(number) => number.to_string(),
            Lual::Number(number) => number.to_string(),
            // Half a key would be another one.
            Lual::String(name) if room.take_text(name.as_bytes().len()) < name.as_bytes().len() => break,
            Lual::String(name) => name.to_str().map_err(|_| "a key that is not valid UTF-8")?.to_owned(),
            other => return Err(format!("a {} for a key", other.type_name())),
        };
        // Lua gives the list part of a table first and in its order.
        if others.is_empty() && key == Lual::Integer(i64::try_from(at).unwrap_or(i64::MAX)) {
            list.push(read_at(name, value, room)?.1);
        } else {
            others.push((name, value));
        }
    }
    if others.is_empty() && (!list.is_empty() || is_marked_as_list(table)) {
        return Ok(Value::Array(list));
    }
    // The order of the hash part depends on its history, and on the process. What is read must not.
    others.sort_by(|(one, _), (other, _)| one.cmp(other));
    let numbered = list.into_iter().enumerate().map(|(at, value)| ((at + 1).to_string(), value));
    let mut entries: Map<String, Value> = numbered.collect();
    for (name, value) in others {
        let (name, value) = read_at(name, value, room)?;
        entries.insert(name, value);
    }
    Ok(Value::Object(entries))
}

/// Whether the metatable of a table says that it is a list: the convention of Lua's JSON libraries for an empty one.
fn is_marked_as_list(table: &Table) -> bool {
    table.metatable().is_some_and(|meta| meta.raw_get::<String>("__jsontype").is_ok_and(|kind| kind == "array"))
}

/// JSON as a Lua value. What is null in an object is absent; in a list it is `vim.NIL`, so that the rest keeps its place.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn from_json(lua: &Lua, value: &Value) -> mlua::Result<Lual> {
    Ok(match value {
        Value::Array(list) => {
            let table = lua.create_table_with_capacity(list.len(), 0)?;
            if list.is_empty() {
                // So that it does not come back as an object.
                let meta = lua.create_table()?;
                meta.raw_set("__jsontype", "array")?;
                table.set_metatable(Some(meta))?;
            }
            for item in list {
                table.push(if item.is_null() { nil(lua)? } else { from_json(lua, item)? })?;
            }
            Lual::Table(table)
        }
        Value::Object(entries) => {
            let table = lua.create_table_with_capacity(0, entries.len())?;
            for (key, value) in entries {
                table.set(key.as_str(), from_json(lua, value)?)?;
            }
            Lual::Table(table)
        }
        plain => to_lua(lua, plain)?,
    })
}

/// A list of any length. Lua keeps only a few thousand values for Rust at the same time, so they are never collected first.
///
/// # Errors
/// Of the first item that could not be made.
pub(super) fn list<T: IntoLua>(lua: &Lua, items: impl IntoIterator<Item = mlua::Result<T>>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    items.into_iter().enumerate().try_for_each(|(at, item)| table.raw_set(at + 1, item?))?;
    Ok(table)
}

/// A Lua table with these fields.
macro_rules! table {
    ($lua:expr, $($key:ident: $value:expr),+ $(,)?) => {{
        let table = $lua.create_table()?;
        $(table.set(stringify!($key), $value)?;)+
        table
    }};
}
pub(super) use table;

/// Anything serialisable as a Lua value; what is absent becomes `nil`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn to_lua<T: Serialize>(lua: &Lua, value: &T) -> mlua::Result<Lual> {
    lua.to_value_with(
        value,
        SerializeOptions::new().serialize_none_to_null(false).serialize_unit_to_null(false).set_array_metatable(false),
    )
}

/// The variant of an enum that has this name in Lua, with its fields.
///
/// # Errors
/// When there is none of this name, or when a field is missing, unknown, or of another type.
pub(super) fn variant<T: DeserializeOwned>(lua: &Lua, name: &str, fields: Option<Table>) -> mlua::Result<T> {
    let value = match fields {
        None => name.into_lua(lua)?,
        Some(fields) => Lual::Table(lua.create_table_from([(name, fields)])?),
    };
    read_as(value).map_err(|error| mlua::Error::runtime(format!("{name}: {error}")))
}

/// A value as a type that reads itself.
///
/// # Errors
/// When it does not fit.
pub(super) fn read_as<T: DeserializeOwned>(value: Lual) -> Result<T, erased_serde::Error> {
    // Each type reads itself through one deserializer of Lua, which is not compiled anew for each.
    let mut deserializer = <dyn erased_serde::Deserializer<'_>>::erase(Deserializer::new(value));
    erased_serde::deserialize(&mut deserializer)
}

/// A text, a number or a truth value as text; `None` for anything else.
pub(super) fn plain(value: &Lual) -> Option<Vec<u8>> {
    Some(match value {
        Lual::String(text) => text.as_bytes().to_vec(),
        Lual::Integer(number) => number.to_string().into_bytes(),
        Lual::Number(number) => number.to_string().into_bytes(),
        Lual::Boolean(switch) => switch.to_string().into_bytes(),
        _ => return None,
    })
}

/// A path as Lua has it, which need not be valid UTF-8.
pub(super) fn path(name: BString) -> PathBuf {
    PathBuf::from(OsString::from_vec(name.into()))
}

/// An error as the rest of Flemma sees it.
pub(super) fn lua_error(error: &mlua::Error) -> LuaError {
    LuaError::new(words(error))
}

/// What an error says, in one line and without a traceback or the place in our own Lua at which it was thrown.
pub(super) fn words(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return words(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    let place = line.split_once(".lua:").filter(|(file, _)| file.contains("lua/flemma/") && !file.contains(": "));
    place.and_then(|(_, rest)| rest.split_once(": ")).map_or(line, |(_, words)| words).to_owned()
}
