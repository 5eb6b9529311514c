//! What the model is told of its tools.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::values;
use crate::{provider::ToolSpec, xml};

const HOW: &str = "\
# Tools

You can call tools. To call one, write a code block of XML in your reply, and end your reply after it. You then get the result, \
and can go on.

```xml
<tools>
  <tool name=\"NAME\">
    <PARAMETER>VALUE</PARAMETER>
  </tool>
</tools>
```

- You can call several tools at once: write one `<tool>` element for each call.
- The items of a list are `<item>` elements in the element of the parameter.
- Leave out the parameters that you do not need.
- Write text with `<`, `&` or several lines in a CDATA section: `<content><![CDATA[text]]></content>`.
- Only use the tools below. Never write the result of a tool yourself.";

/// The part of the system prompt that describes the tools; `None` without tools.
pub(super) fn describe(tools: &[ToolSpec]) -> Option<String> {
    if tools.is_empty() {
        return None;
    }
    let mut prompt = HOW.to_owned();
    for tool in tools {
        match &tool.prompt {
            Some(own) => drop(write!(prompt, "\n\n{}", own.trim())),
            None => drop(write!(prompt, "\n\n{}", of_schema(tool))),
        }
    }
    Some(prompt)
}

/// The description of a tool that has none for XML of its own.
fn of_schema(tool: &ToolSpec) -> String {
    let mut text = format!("## The tool `{}`\n\n{}\n", tool.name, tool.description.trim());
    let schema = &*tool.input_schema;
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let example: Map<String, Value> = properties.iter().map(|(name, schema)| (name.clone(), example(schema))).collect();
    let element = values::call(&tool.name, &Value::Object(example));
    let _ = write!(text, "\n```xml\n{}```\n", xml::write_element(&element));
    for (name, schema) in properties {
        let is_required = required.contains(&name.as_str()) && !values::types(schema).contains(&"null");
        let need = if is_required { "required" } else { "optional" };
        let _ = write!(text, "\n- `{name}` ({}, {need})", kind(schema));
        if let Some(words) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(text, ": {}", words.trim());
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            let choices: Vec<String> = choices
                .iter()
                .filter(|choice| !choice.is_null())
                .map(|choice| format!("`{}`", choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)))
                .collect();
            let _ = write!(text, ". One of {}", choices.join(", "));
        }
    }
    text.trim_end().to_owned()
}

/// A value that shows where a parameter goes.
fn example(schema: &Value) -> Value {
    match kind(schema) {
        "list" => json!([example(schema.get("items").unwrap_or(&Value::Null))]),
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flatten().map(|(name, schema)| (name.clone(), example(schema))).collect()
        }
        kind => kind.into(),
    }
}

/// The kind of a parameter, in a word for the model.
fn kind(schema: &Value) -> &'static str {
    let word = values::types(schema).into_iter().find(|kind| *kind != "null");
    match word {
        Some("array") => "list",
        Some("object") => "object",
        Some("integer") => "whole number",
        Some("number") => "number",
        Some("boolean") => "true or false",
        _ => "text",
    }
}
