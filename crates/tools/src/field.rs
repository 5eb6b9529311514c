//! What a field of a form asks for, read from a JSON Schema.

use serde_json::{Map, Value, json};

/// The maximum number of references that are followed.
const MAX_REFERENCES: usize = 8;

/// The kind of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldKind {
    /// One of these values, each with its words.
    Choice(Vec<(String, Value)>),
    /// Text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Any other value, which is written as JSON.
    Json,
}

/// The properties of an object, each with its schema and whether it is required; `None` if the schema is not one of an object with
/// properties. The required ones come first, in the order in which they are listed: the order of a Lua table is not known.
pub(super) fn properties(schema: &Value) -> Option<Vec<(&str, &Value, bool)>> {
    let object = follow(schema, schema);
    let is_object = object.get("type").is_none_or(|kind| kind == "object");
    let properties = object.get("properties")?.as_object().filter(|all| is_object && !all.is_empty())?;
    let listed = object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<&str> = listed.filter(|name| properties.contains_key(*name)).collect();
    let mut others: Vec<&str> = properties.keys().map(String::as_str).collect();
    others.retain(|name| !required.contains(name));
    others.sort_unstable();
    let names = required.into_iter().map(|name| (name, true)).chain(others.into_iter().map(|name| (name, false)));
    Some(names.filter_map(|(name, is_required)| Some((name, properties.get(name)?, is_required))).collect())
}

/// The kind of a schema, and whether it also allows null.
pub(super) fn kind_of(schema: &Value, root: &Value) -> (FieldKind, bool) {
    if let Some(value) = schema.get("const") {
        return (FieldKind::Choice(vec![(words(value), value.clone())]), false);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let named = values.iter().filter(|value| !value.is_null()).map(|value| (words(value), value.clone()));
        return (FieldKind::Choice(named.collect()), values.iter().any(Value::is_null));
    }
    if let Some(forms) = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array()) {
        let is_null = |form: &&Value| form.get("type").is_some_and(|kind| kind == "null");
        let allows_null = forms.iter().any(|form| is_null(&form));
        let forms: Vec<&Value> = forms.iter().filter(|form| !is_null(form)).map(|form| follow(form, root)).collect();
        if let [only] = forms[..]
            && only.get("oneOf").is_none()
            && only.get("anyOf").is_none()
        {
            let (kind, is_nullable) = kind_of(only, root);
            return (kind, is_nullable || allows_null);
        }
        let named = forms.iter().map(|form| {
            let value = form.get("const")?;
            let title = form.get("title").and_then(Value::as_str).map(str::to_owned);
            Some((title.unwrap_or_else(|| words(value)), value.clone()))
        });
        return (named.collect::<Option<Vec<_>>>().map_or(FieldKind::Json, FieldKind::Choice), allows_null);
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_nullable = kinds.len() > 1 && kinds.contains(&"null");
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "null" || !is_nullable).collect();
    let kind = match kinds[..] {
        ["boolean"] => FieldKind::Choice(vec![("yes".to_owned(), true.into()), ("no".to_owned(), false.into())]),
        ["integer"] => FieldKind::Integer,
        ["number"] | ["number", "integer"] | ["integer", "number"] => FieldKind::Number,
        ["string"] => FieldKind::Text,
        _ => FieldKind::Json,
    };
    (kind, is_nullable)
}

/// What a value is called.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

/// The schema that a reference inside the document leads to; the schema itself if it is no reference.
pub(super) fn follow<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut at = schema;
    for _ in 0..MAX_REFERENCES {
        let target = at.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(to.strip_prefix('#')?));
        match target {
            Some(target) => at = target,
            None => break,
        }
    }
    at
}

/// The schema of a property with the definitions that it may refer to.
pub(super) fn on_its_own(schema: &Value, root: &Value) -> Value {
    let mut own = match schema {
        Value::Object(own) => own.clone(),
        Value::Bool(_) => return schema.clone(),
        _ => Map::new(),
    };
    for key in ["$defs", "definitions", "$schema"] {
        if let Some(definitions) = root.get(key)
            && !own.contains_key(key)
        {
            own.insert(key.to_owned(), definitions.clone());
        }
    }
    // A reference to the root would lead here instead.
    if own.get("$ref") == Some(&json!("#")) { root.clone() } else { Value::Object(own) }
}
