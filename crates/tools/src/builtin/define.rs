//! Definitions of built-in tools.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{DeclaredApproval, Definition, Executor, NativeTool, Runner};

/// A strict definition whose properties are `properties` (a JSON object of schemas) and a `label`.
pub(super) fn define(name: &str, description: &str, properties: Value, tool: impl NativeTool + 'static) -> Definition {
    define_unlabelled(name, description, with_label(properties), tool)
}

/// The properties with a `label` before them.
pub(super) fn with_label(properties: Value) -> Value {
    let label = json!({
        "type": ["string", "null"],
        "description": "What this call is for, in a few words. Shown to the user.",
    });
    let mut all = Map::from_iter([("label".to_owned(), label)]);
    if let Value::Object(properties) = properties {
        all.extend(properties);
    }
    Value::Object(all)
}

/// A strict definition whose properties are `properties` (a JSON object of schemas).
pub(super) fn define_unlabelled(
    name: &str,
    description: &str,
    properties: Value,
    tool: impl NativeTool + 'static,
) -> Definition {
    define_answered(name, description, properties, Executor::Server(Runner::Native(Arc::new(tool))))
}

/// A strict definition whose properties are `properties` (a JSON object of schemas), for calls that `executor` answers.
pub(super) fn define_answered(name: &str, description: &str, properties: Value, executor: Executor) -> Definition {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    });
    let mut definition = Definition::new(name, description, schema, executor);
    definition.strict = true;
    definition
}

/// Declares that a tool only reads: it runs without asking by default.
pub(super) fn harmless(mut definition: Definition) -> Definition {
    definition.approval = Some(DeclaredApproval::Auto);
    definition.idempotent = true;
    definition
}
