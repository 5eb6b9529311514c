//! Schemas by example: the JSON Schema of a tool that shows what a call of it looks like.
//!
//! Each text in an example is a string, and everything is required that all examples have. Where the elements of a name
//! differ, an attribute tells them apart that they all have and that differs as well (`type="create"`), and otherwise what
//! is in them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::sample::{self, ATTRIBUTES};
use flemma_model::UserError;

/// The element that says what to do. There may be several.
const ACTION: &str = "action";

/// The attribute that says what kind of element it is. It has no other values than the examples have.
const KIND: &str = "type";

/// How many examples of a text are shown, and how long they are together, in bytes.
const SHOWN: usize = 3;
const SHOWN_BYTES: usize = 1000;

/// The schema of the input of a tool, from an example of its `<tool>` element or a list of them; each may be in a table
/// under `tool`.
///
/// # Errors
/// When it is no such example.
pub fn xml_schema(example: &Value) -> Result<Value, UserError> {
    sample::check_depth(example)?;
    let mut examples = Vec::new();
    collect(example, &mut examples)?;
    if examples.is_empty() {
        return Err(UserError::new("it has no example of a call: a table with `_attr` and `action`"));
    }
    let mut tools: Vec<Map<String, Value>> = examples.into_iter().cloned().collect();
    for tool in &mut tools {
        if let Some(Value::Object(attributes)) = tool.get_mut(ATTRIBUTES) {
            attributes.shift_remove("name");
            if attributes.is_empty() {
                tool.shift_remove(ATTRIBUTES);
            }
        }
    }
    merged(&tools.iter().collect::<Vec<_>>(), None, true)
}

/// The `<tool>` elements of an example.
fn collect<'a>(example: &'a Value, found: &mut Vec<&'a Map<String, Value>>) -> Result<(), UserError> {
    match example {
        Value::Array(list) => list.iter().try_for_each(|example| collect(example, found)),
        Value::Object(entries) => {
            let wrapped = ["tools", "tool"].iter().find_map(|name| entries.get(*name)).filter(|_| entries.len() == 1);
            match wrapped {
                Some(inner) => collect(inner, found)?,
                None if entries.is_empty() => {}
                None => found.push(entries),
            }
            Ok(())
        }
        _ => Err(UserError::new("an example of a call is a table with `_attr` and `action`, not a text")),
    }
}

/// The schema of everything that one name stands for in the examples.
fn of(values: &[&Value], is_action: bool) -> Result<Value, UserError> {
    let items: Vec<&Value> = values.iter().flat_map(|value| sample::items(value)).collect();
    let elements: Vec<&Map<String, Value>> = items.iter().filter_map(|item| item.as_object()).collect();
    let texts: Vec<String> = items.iter().filter_map(|item| sample::leaf(item)).map(|(text, _)| text).collect();
    let mut choices = Vec::new();
    if !texts.is_empty() {
        choices.push(text(&texts));
    }
    for group in kinds(&elements)? {
        choices.push(merged(&group.elements, group.kind.map(|(name, _)| name), false)?);
    }
    if is_action && !elements.is_empty() {
        // The executor of such a tool takes one or several.
        let items = any_of(choices.clone());
        choices.push(json!({ "type": "array", "items": items }));
    } else if values.iter().any(|value| value.is_array()) {
        return Ok(match choices.is_empty() {
            true => json!({ "type": "array" }),
            false => json!({ "type": "array", "items": any_of(choices) }),
        });
    }
    Ok(any_of(choices))
}

/// Elements that have one schema, and the attribute that tells them from others.
struct Group<'a> {
    kind: Option<(&'a str, String)>,
    elements: Vec<&'a Map<String, Value>>,
}

/// The elements by kind, in the order of their first examples.
fn kinds<'a>(elements: &[&'a Map<String, Value>]) -> Result<Vec<Group<'a>>, UserError> {
    let attributes = elements.iter().copied().map(sample::attributes).collect::<Result<Vec<_>, _>>()?;
    let value = |at: usize, name: &str| attributes[at].iter().find(|(own, _)| *own == name).map(|(_, text)| text);
    let all = || 0..elements.len();
    let keys = |at: usize| elements[at].keys().collect::<BTreeSet<_>>();
    let tells_apart = |name: &&str| {
        let is_always = all().all(|at| value(at, name).is_some());
        let differs = all().any(|at| value(at, name) != value(0, name));
        // Any other attribute may be an example of a value.
        let decides =
            || all().all(|one| all().all(|other| value(one, name) != value(other, name) || keys(one) == keys(other)));
        let is_needed = || all().any(|at| keys(at) != keys(0));
        is_always && differs && (*name == KIND || decides() && is_needed())
    };
    let names = attributes.first().into_iter().flatten().map(|(name, _)| *name);
    let kind = [KIND].into_iter().chain(names).find(tells_apart);
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        let own = kind.and_then(|kind| Some((kind, value(at, kind)?)));
        let has_all =
            |one: &Map<String, Value>, other: &Map<String, Value>| one.keys().all(|key| other.contains_key(key));
        let is_like = |other: &&Map<String, Value>| has_all(element, other) || has_all(other, element);
        let is_same = |group: &&mut Group<'_>| {
            group.kind.as_ref().map(|(name, text)| (*name, text)) == own && group.elements.iter().all(is_like)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.elements.push(element),
            None => {
                let kind = own.map(|(name, text)| (name, text.clone()));
                groups.push(Group { kind, elements: vec![element] });
            }
        }
    }
    Ok(groups)
}

/// The schema of elements of one kind, which `kind` tells from others. `is_tool` if they are `<tool>` elements.
fn merged(elements: &[&Map<String, Value>], kind: Option<&str>, is_tool: bool) -> Result<Value, UserError> {
    let keys: BTreeSet<&String> = elements.iter().flat_map(|element| element.keys()).collect();
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for key in keys {
        let values: Vec<&Value> = elements.iter().filter_map(|element| element.get(key)).collect();
        let is_always = values.len() == elements.len();
        let schema =
            if key == ATTRIBUTES { of_attributes(elements, kind)? } else { of(&values, is_tool && key == ACTION)? };
        properties.insert(key.clone(), schema);
        // Of an empty list nothing is written.
        let has_items = |value: &&Value| {
            let has_entries = || value.as_object().is_some_and(|entries| !entries.is_empty());
            !sample::items(value).is_empty() && (key != ATTRIBUTES || has_entries())
        };
        if is_always && values.iter().all(has_items) {
            required.push(key.clone());
        }
    }
    Ok(object(properties, &required))
}

fn of_attributes(elements: &[&Map<String, Value>], kind: Option<&str>) -> Result<Value, UserError> {
    let attributes = elements.iter().copied().map(sample::attributes).collect::<Result<Vec<_>, _>>()?;
    let names: BTreeSet<&str> = attributes.iter().flatten().map(|(name, _)| *name).collect();
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for name in names {
        let values = attributes.iter().filter_map(|own| own.iter().find(|(other, _)| *other == name));
        let mut texts: Vec<String> = values.map(|(_, text)| text.clone()).collect();
        if texts.len() == elements.len() {
            required.push(name.to_owned());
        }
        let schema = if name == KIND || kind == Some(name) {
            texts.sort();
            texts.dedup();
            json!({ "type": "string", "enum": texts })
        } else {
            text(&texts)
        };
        properties.insert(name.to_owned(), schema);
    }
    Ok(object(properties, &required))
}

fn object(properties: Map<String, Value>, required: &[String]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn any_of(mut choices: Vec<Value>) -> Value {
    match choices.len() {
        0 => json!({}),
        1 => choices.swap_remove(0),
        _ => json!({ "anyOf": choices }),
    }
}

/// The schema of a text.
fn text(examples: &[String]) -> Value {
    let mut shown: Vec<&str> = Vec::new();
    for example in examples.iter().map(|example| example.trim()).filter(|example| !example.is_empty()) {
        let bytes: usize = shown.iter().map(|shown| shown.len()).sum();
        if !shown.contains(&example) && shown.len() < SHOWN && bytes + example.len() <= SHOWN_BYTES {
            shown.push(example);
        }
    }
    match shown[..] {
        [] => json!({ "type": "string" }),
        [example] => json!({ "type": "string", "description": format!("Example: {example}") }),
        _ => json!({ "type": "string", "description": format!("Examples: {}", shown.join("; ")) }),
    }
}
