//! What the model is told of its tools.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::values::{self, ATTRIBUTES, properties};
use crate::ToolSpec;
use flemma_text::xml;

/// How deep properties in properties are shown.
const MAX_DEPTH: usize = 4;

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
    let element = values::call(&tool.name, &example_of_object(schema, 0));
    let _ = write!(text, "\n```xml\n{}```\n", xml::write_element(&element));
    list(&mut text, schema, 0);
    text.trim_end().to_owned()
}

/// Lists the properties of an object, each with those in it below.
fn list(text: &mut String, schema: &Value, depth: usize) {
    let required: Vec<&str> = values::required(schema).collect();
    for (name, schema) in properties(schema) {
        let is_required = required.contains(&name.as_str()) && !values::types(schema).contains(&"null");
        let need = if is_required { "required" } else { "optional" };
        let schema = chosen(schema);
        let indent = "  ".repeat(depth);
        let (name, what) = match name.as_str() {
            ATTRIBUTES => ("attributes", "of the element"),
            name => (name, kind(schema)),
        };
        let _ = write!(text, "\n{indent}- `{name}` ({what}, {need})");
        if let Some(words) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(text, ": {}", words.trim());
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            let choices: Vec<String> = choices
                .iter()
                .filter(|choice| !choice.is_null())
                .map(|choice| format!("`{}`", values::text_of(choice)))
                .collect();
            let _ = write!(text, ". One of {}", choices.join(", "));
        }
        if depth < MAX_DEPTH {
            let items = schema.get("items").map(chosen);
            list(text, items.unwrap_or(schema), depth + 1);
        }
    }
}

/// A value that shows where a parameter goes.
fn example(schema: &Value, depth: usize) -> Value {
    let schema = chosen(schema);
    if let Some(first) = schema.get("enum").and_then(|choices| choices.get(0)).filter(|choice| !choice.is_null()) {
        return first.clone();
    }
    match kind(schema) {
        _ if depth > MAX_DEPTH => Value::from("…"),
        "list" => json!([example(schema.get("items").unwrap_or(&Value::Null), depth + 1)]),
        "object" => example_of_object(schema, depth + 1),
        kind => kind.into(),
    }
}

fn example_of_object(schema: &Value, depth: usize) -> Value {
    properties(schema).map(|(name, schema)| (name.clone(), example(schema, depth))).collect()
}

/// Of several schemas the one that is shown: the first that is not null.
fn chosen(schema: &Value) -> &Value {
    let shown =
        values::choices(schema).and_then(|choices| choices.iter().find(|choice| values::types(choice) != ["null"]));
    shown.filter(|_| schema.get("type").is_none()).map_or(schema, chosen)
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
