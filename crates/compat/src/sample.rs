//! Examples of XML in Lua tables, as JSON: what stands for an element, its attributes and its text.
//!
//! An object is an element with a key for each element in it, and its attributes under [`ATTRIBUTES`]. A list stands for its
//! element several times. Anything else is text, which may be wrapped in a CDATA section.

use serde_json::{Map, Value};

use flemma_model::UserError;

/// The key of an element's attributes.
pub(super) const ATTRIBUTES: &str = "_attr";

/// How deep an example may be nested.
pub(super) const DEEPEST: usize = 50;

/// The text of a leaf, without its CDATA section, and whether it has one; `None` for an element with others in it.
pub(super) fn leaf(value: &Value) -> Option<(String, bool)> {
    Some(match value {
        Value::Array(_) | Value::Object(_) => return None,
        Value::Null => (String::new(), false),
        Value::String(text) => match cdata(text) {
            Some(inner) => (inner.to_owned(), true),
            None => (text.clone(), false),
        },
        Value::Number(number) => (written(number), false),
        Value::Bool(switch) => (switch.to_string(), false),
    })
}

/// A number as Lua writes it: whole numbers without a fraction.
fn written(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

/// What is in a text that is one CDATA section.
fn cdata(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("<![CDATA[")?.strip_suffix("]]>")?;
    (!inner.contains("]]>")).then_some(inner)
}

/// The items that a value stands for: those of a list, of lists in it too, or the value itself.
pub(super) fn items(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().flat_map(items).collect(),
        value => vec![value],
    }
}

/// The attributes of an element.
///
/// # Errors
/// When they are none; the message says what is wrong.
pub(super) fn attributes(element: &Map<String, Value>) -> Result<Vec<(&str, String)>, UserError> {
    let attributes = match element.get(ATTRIBUTES) {
        None => return Ok(Vec::new()),
        Some(Value::Object(attributes)) => attributes,
        Some(_) => return Err(UserError::new(format!("`{ATTRIBUTES}` must be a table of attributes"))),
    };
    let attributes = attributes.iter().map(|(name, value)| match leaf(value) {
        None => Err(UserError::new(format!("the attribute `{name}` must be a text, not a table"))),
        Some(_) if !is_name(name) => Err(UserError::new(format!("`{name}` cannot be the name of an attribute"))),
        Some((text, _)) => Ok((name.as_str(), text)),
    });
    attributes.collect()
}

/// Whether elements and attributes can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_start = |letter: char| letter.is_alphabetic() || letter == '_';
    name.starts_with(is_start)
        && name.chars().all(|letter| is_start(letter) || letter.is_numeric() || "-.".contains(letter))
}

/// Fails where an example is nested too deep to be read back.
pub(super) fn check_depth(value: &Value) -> Result<(), UserError> {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or_default(),
            Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or_default(),
            _ => 0,
        }
    }
    if depth(value) > DEEPEST {
        return Err(UserError::new(format!("the example is nested more than {DEEPEST} levels deep")));
    }
    Ok(())
}
