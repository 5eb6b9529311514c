//! Two schemas as one: for `allOf`, and for alternatives with other keywords next to them.
//!
//! The two are translated already (see [`super::schema`]), so they hold few keywords. The result allows what both
//! allow; where two keywords cannot be put into one, it allows more.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// A schema in Vertex's dialect.
pub(super) type Schema = Map<String, Value>;

/// A schema for what both allow.
pub(super) fn both(mut one: Schema, mut other: Schema) -> Schema {
    if one.contains_key("anyOf") || other.contains_key("anyOf") {
        return spread(one, other);
    }
    if one.contains_key("prefixItems") && other.contains_key("prefixItems") {
        // The elements behind the shorter of the two lists would need both.
        other.shift_remove("prefixItems");
        other.shift_remove("items");
    }
    for (keyword, value) in other {
        match one.get_mut(&keyword) {
            Some(mine) => *mine = join(&keyword, mine.take(), value),
            None => drop(one.insert(keyword, value)),
        }
    }
    one
}

/// The same where there are alternatives: what is next to them holds in each. Of two lists of alternatives the
/// first is taken, and the second said in words.
fn spread(mut one: Schema, mut other: Schema) -> Schema {
    let (mut list, mut beside) = match (one.shift_remove("anyOf"), other.shift_remove("anyOf")) {
        (Some(list), None) | (None, Some(list)) => (list, both(one, other)),
        (Some(list), Some(lost)) => {
            let mut beside = both(one, other);
            let words = Value::String(format!("As JSON Schema, this holds as well: {{\"anyOf\":{lost}}}."));
            let words = match beside.shift_remove("description") {
                Some(said) => join("description", said, words),
                None => words,
            };
            beside.insert("description".to_owned(), words);
            (list, beside)
        }
        (None, None) => return both(one, other),
    };
    let mut head = take_head(&mut beside);
    for alternative in list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        *alternative = both(beside.clone(), std::mem::take(alternative));
    }
    head.insert("anyOf".to_owned(), list);
    head
}

/// Takes out of a schema what may stand next to its alternatives.
pub(super) fn take_head(schema: &mut Schema) -> Schema {
    ["title", "description"].into_iter().filter_map(|keyword| schema.shift_remove_entry(keyword)).collect()
}

/// One keyword for what both values of it allow.
fn join(keyword: &str, mine: Value, theirs: Value) -> Value {
    if mine == theirs {
        return mine;
    }
    match (keyword, mine, theirs) {
        ("description", Value::String(mine), Value::String(theirs)) => format!("{mine} {theirs}").into(),
        ("properties", Value::Object(mut mine), Value::Object(theirs)) => {
            for (name, schema) in theirs {
                match (mine.get_mut(&name), schema) {
                    (Some(Value::Object(mine)), Value::Object(theirs)) => *mine = both(std::mem::take(mine), theirs),
                    (_, schema) => drop(mine.insert(name, schema)),
                }
            }
            Value::Object(mine)
        }
        ("items", Value::Object(mine), Value::Object(theirs)) => Value::Object(both(mine, theirs)),
        ("required", Value::Array(mut mine), Value::Array(theirs)) => {
            mine.extend(theirs);
            let mut seen = HashSet::new();
            mine.retain(|name| seen.insert(name.to_string()));
            Value::Array(mine)
        }
        ("enum", Value::Array(mine), Value::Array(theirs)) => {
            let shared: Vec<_> = mine.iter().filter(|value| theirs.contains(value)).cloned().collect();
            Value::Array(if shared.is_empty() { mine } else { shared })
        }
        ("minimum" | "minItems", mine, theirs) => one_of(theirs.as_f64() > mine.as_f64(), theirs, mine),
        ("maximum" | "maxItems", mine, theirs) => one_of(theirs.as_f64() < mine.as_f64(), theirs, mine),
        // What only one of them names must pass there by name, so that either of the two says less than both.
        ("additionalProperties", mine, theirs) => one_of(theirs == Value::Bool(false), theirs, mine),
        ("type", mine, theirs) => types(mine, &theirs),
        (_, mine, _) => mine,
    }
}

fn one_of(is_first: bool, first: Value, second: Value) -> Value {
    if is_first { first } else { second }
}

/// The types that both allow; `mine` if there are none, for then nothing is allowed anyway.
fn types(mine: Value, theirs: &Value) -> Value {
    let names = |value: &Value| match value {
        Value::Array(names) => names.clone(),
        name => vec![name.clone()],
    };
    let theirs = names(theirs);
    let shared: Vec<Value> = names(&mine)
        .into_iter()
        .filter_map(|name| match name.as_str() {
            _ if theirs.contains(&name) => Some(name),
            Some("number") if theirs.contains(&"integer".into()) => Some("integer".into()),
            Some("integer") if theirs.contains(&"number".into()) => Some(name),
            _ => None,
        })
        .collect();
    match <[Value; 1]>::try_from(shared) {
        Ok([only]) => only,
        Err(shared) if shared.is_empty() => mine,
        Err(shared) => Value::Array(shared),
    }
}
