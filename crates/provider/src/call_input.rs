//! The input of a call, in whatever form and under whatever name a server sends it.

use serde_json::{Map, Value, json};

use super::loose_json;
use flemma_model::ToolInput;

/// The names of the input, in any protocol.
const NAMES: [&str; 4] = ["arguments", "args", "input", "parameters"];

/// What else is in a call, and is text or an object.
const OTHERS: [&str; 16] = [
    "id",
    "call_id",
    "item_id",
    "name",
    "type",
    "status",
    "function",
    "extra_content",
    "provider_specific_fields",
    "signature",
    "thought_signature",
    "thoughtSignature",
    "caller",
    "cache_control",
    "namespace",
    "created_by",
];

/// What is wrong with a call whose input is not known by its name.
pub(super) const UNKNOWN: &str = "a call without an input, and with something that may be it";

/// Takes the input out of a call, and says whether that is what it is: of a call without one, it is all that has no known name. Null
/// if there is neither.
pub(super) fn take_input(call: &mut Value) -> (Value, bool) {
    let is_blank = |value: &Value| value.is_null() || *value == json!("") || *value == json!({});
    let Value::Object(fields) = call else { return (Value::Null, true) };
    let inputs: Vec<Value> = NAMES.iter().filter_map(|name| fields.shift_remove(*name)).collect();
    if let Some(input) = inputs.into_iter().find(|input| !is_blank(input)) {
        return (input, true);
    }
    let may_be_input = |name: &str, value: &Value| {
        !(OTHERS.contains(&name) || is_blank(value) || value.is_number() || value.is_boolean())
    };
    let others: Map<_, _> = fields.clone().into_iter().filter(|(name, value)| may_be_input(name, value)).collect();
    let is_known = others.is_empty();
    (if is_known { Value::Null } else { others.into() }, is_known)
}

/// The input of a call: its JSON, or `given` where that has nothing in it. A tool without arguments often gets no
/// text at all.
pub(super) fn tool_input(json: String, given: Value) -> ToolInput {
    match given {
        given if !json.trim().is_empty() => drop(given),
        Value::Null => return ToolInput::Json(json!({})),
        Value::String(text) => return tool_input(text, Value::Null),
        given => return ToolInput::Json(given),
    }
    match loose_json::read_input(&json) {
        Some(Value::Null) => ToolInput::Json(json!({})),
        // Some servers encode it twice.
        Some(Value::String(text)) => match loose_json::read_input(&text) {
            Some(value) if value.is_object() => ToolInput::Json(value),
            _ => ToolInput::Json(text.into()),
        },
        Some(value) => ToolInput::Json(value),
        None => ToolInput::Malformed(json),
    }
}

/// What is wrong with an input that has the character which decoders put in the place of what they cannot read. Where the model means
/// it, one question too many is asked.
pub(super) fn unreadable(input: &ToolInput) -> Option<&'static str> {
    let ToolInput::Json(json) = input else { return None };
    json.to_string()
        .contains(char::REPLACEMENT_CHARACTER)
        .then_some("a character in the input of a call cannot be read")
}
