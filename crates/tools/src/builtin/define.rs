//! The definitions of the built-in tools, which are data in `definitions.json`, and what runs their calls.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{bash, calculator, edit, find, grep, ls, notes, read, skill, write};
use crate::{
    Definition, DefinitionError, Executor, NativeTool, Runner,
    declare::{self, Field},
};

/// All built-in tools. A mistake in the data, which the tests would find, is a panic.
pub fn all() -> Vec<Definition> {
    let entries: Vec<Map<String, Value>> = serde_json::from_str(include_str!("definitions.json"))
        .unwrap_or_else(|error| panic!("the definitions of the built-in tools are not valid: {error}"));
    let read = |entry| definition(entry).unwrap_or_else(|error| panic!("a built-in tool is not valid: {error}"));
    entries.into_iter().map(read).collect()
}

/// Reads an entry of the data: the fields of a user's definition, and some of its own.
fn definition(mut entry: Map<String, Value>) -> Result<Definition, DefinitionError> {
    let mut take = |field: &str| entry.shift_remove(field).unwrap_or_default();
    let (icon, result) = (take("icon"), take("result"));
    let [labelled, always_asks, leaves_out_denied] =
        ["labelled", "always_asks", "leaves_out_denied"].map(|field| take(field) == true);
    let mut properties = Map::new();
    if labelled {
        let description = "What this call is for, in a few words. Shown to the user.";
        properties.insert("label".into(), json!({ "type": ["string", "null"], "description": description }));
    }
    properties.extend(take("properties").as_object().cloned().unwrap_or_default());
    // Without a list of those that are required, all are, and there are no others.
    let required = take("required");
    let strict = required.is_null();
    let required = if strict { properties.keys().map(String::as_str).collect() } else { required };
    let lines = take("description");
    let lines: Vec<&str> = lines.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // The editor's function for a call is in `lua/flemma/tools/client/`, in a file with the tool's name.
    let native = |name: &Value| Executor::Server(Runner::Native(tool(name.as_str().unwrap_or_default())));
    let executor = if entry.contains_key("executor") { None } else { entry.get("name").map(native) };
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": !strict,
    });
    let built = [("description", lines.join(" ").into()), ("strict", strict.into()), ("input_schema", schema)];
    let result = (!result.is_null()).then(|| ("result_schema", json!({ "type": "object", "properties": result })));
    entry.extend(built.into_iter().chain(result).map(|(field, value)| (field.to_owned(), value)));
    let fields = entry.into_iter().map(|(field, value)| (field, Field::Value(value))).collect();
    let mut definition = declare::read(None, fields, executor)?;
    definition.icon = icon.as_str().and_then(|icon| icon.chars().next());
    (definition.always_asks, definition.leaves_out_denied) = (always_asks, leaves_out_denied);
    Ok(definition)
}

/// What runs the calls of a tool.
fn tool(name: &str) -> Arc<dyn NativeTool> {
    match name {
        "bash" => Arc::new(bash::Bash),
        "calculator" => Arc::new(calculator::TOOL),
        "calculator_async" => Arc::new(calculator::CalculatorAsync),
        "edit" => Arc::new(edit::TOOL),
        "find" => Arc::new(find::TOOL),
        "grep" => Arc::new(grep::TOOL),
        "ls" => Arc::new(ls::TOOL),
        "read" => Arc::new(read::Read),
        "skill" => Arc::new(skill::TOOL),
        "write" => Arc::new(write::TOOL),
        note => notes::tool(note),
    }
}
