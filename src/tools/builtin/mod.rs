//! The built-in tools, one file each.
//!
//! Every tool has a strict schema: all properties are required, those that may be left out may be null, and no
//! others are taken. Every tool takes a `label`, the model's own short word on what the call is for, which only the
//! preview shows.

mod bash;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Definition, Handler, NativeTool};

/// All built-in tools.
pub fn all() -> Vec<Definition> {
    vec![bash::definition()]
}

/// A strict definition whose properties are `properties` (a JSON object of schemas) and a `label`.
fn define(name: &str, description: &str, properties: Value, tool: impl NativeTool + 'static) -> Definition {
    let label = json!({
        "type": ["string", "null"],
        "description": "What this call is for, in a few words. Shown to the user.",
    });
    let mut all = Map::from_iter([("label".to_owned(), label)]);
    if let Value::Object(properties) = properties {
        all.extend(properties);
    }
    let required: Vec<&String> = all.keys().collect();
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": all,
        "additionalProperties": false,
    });
    let mut definition = Definition::new(name, description, schema, Handler::Native(Arc::new(tool)));
    definition.strict = true;
    definition
}

/// A string in the input.
fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, String> {
    input.get(name).and_then(Value::as_str).ok_or_else(|| format!("`{name}` is missing: it must be a string."))
}
