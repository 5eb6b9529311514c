//! The order of the keys in a JSON result: a Lua table has none of its own.

use serde_json::{Map, Value};

/// Puts the keys of each object into the order in which `schema` lists its properties. Keys that the schema does not name
/// follow in the order that they have.
pub fn arranged(value: Value, schema: &Value) -> Value {
    match value {
        Value::Object(mut entries) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let mut ordered = Map::with_capacity(entries.len());
            for (name, schema) in properties.into_iter().flatten() {
                // `remove` would fill the gap with the last entry.
                if let Some(value) = entries.shift_remove(name) {
                    ordered.insert(name.clone(), arranged(value, schema));
                }
            }
            ordered.extend(entries);
            Value::Object(ordered)
        }
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| arranged(item, schema)).collect(),
            None => Value::Array(items),
        },
        plain => plain,
    }
}
