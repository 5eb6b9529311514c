//! JSON Schema in the dialect that Vertex takes.
//!
//! A function's parameters go into `parametersJsonSchema`, which `v1` has accepted in addition to the older
//! `parameters` since 2025 (`google.cloud.aiplatform.v1.FunctionDeclaration`): it is JSON Schema, while `parameters` is
//! a type of its own without `null` in `type`, without numbers in `enum` and without `additionalProperties`. Of JSON
//! Schema it reads a part, which the reference spells out for `GenerationConfig.responseJsonSchema`: `type`, `format`,
//! `title`, `description`, `enum` (strings and numbers), `items`, `prefixItems`, `minItems`, `maxItems`, `minimum`,
//! `maximum`, `anyOf`, `oneOf` (read as `anyOf`), `properties`, `additionalProperties`, `required`.
//!
//! The rest is translated, and what has no translation is put into the description, where the model reads it:
//!
//! | in JSON Schema                                 | what becomes of it                                          |
//! |------------------------------------------------|-------------------------------------------------------------|
//! | `$ref`                                         | written out, see [`super::inline`]                          |
//! | `const`, `enum` of more than text or numbers   | `enum`, and an alternative for each other kind              |
//! | `oneOf`, a `type` of several, several `anyOf`  | one `anyOf`, whose alternatives hold all that was next to it |
//! | `type` with `null`, `nullable`                 | `type` with `null`                                          |
//! | `allOf`                                        | one schema                                                  |
//! | `items` as a list, `additionalItems`           | `prefixItems`, `items`                                      |
//! | `exclusiveMinimum`, `exclusiveMaximum`         | `minimum`, `maximum`, and words                             |
//! | `patternProperties`                            | words; nothing is forbidden by `additionalProperties` then  |
//! | `pattern`, `minLength`, `default`, `not`, …    | words                                                       |
//! | alternatives of the whole input                | one object with the properties of all, and words            |
//!
//! A translation never forbids what the original allows: the input of a call is checked against the original anyway.

use serde_json::{Value, json};

use super::{
    conjunction::{Schema, both, take_head},
    inline::{inline, inner},
};

/// The most alternatives that one schema is spread into; beyond it alternatives are said in words.
const MAX_ALTERNATIVES: usize = 24;

/// The formats that are passed on; others are said in words, because the API refuses some of them.
const FORMATS: [&str; 7] = ["date-time", "date", "time", "int32", "int64", "float", "double"];

/// A tool's input as `parametersJsonSchema`; `None` for a tool without parameters.
///
/// # Errors
/// When the schema cannot be written out. The text goes on after "its input_schema".
pub(super) fn parameters(schema: &Value) -> Result<Option<Value>, String> {
    let mut root = translate(&inline(schema)?);
    if let Some(Value::Array(alternatives)) = root.remove("anyOf") {
        root = unite(root, alternatives);
    }
    // Arguments always are an object.
    root.insert("type".to_owned(), "object".into());
    let nothing = [json!({}), json!([]), json!(false)];
    let says_something = root.iter().any(|(keyword, value)| keyword != "type" && !nothing.contains(value));
    if !says_something {
        return Ok(None);
    }
    settle(&mut root);
    Ok(Some(Value::Object(root)))
}

/// One schema without references, and all that it holds.
fn translate(schema: &Value) -> Schema {
    let keywords = match schema {
        Value::Object(keywords) => keywords,
        Value::Bool(false) => return only("description", "Nothing is allowed here."),
        _ => return Schema::new(),
    };
    let mut sheet = Sheet::default();
    for (keyword, value) in keywords {
        sheet.take(keyword, value, keywords);
    }
    sheet.finish()
}

/// A schema of one keyword.
fn only(keyword: &str, value: impl Into<Value>) -> Schema {
    Schema::from_iter([(keyword.to_owned(), value.into())])
}

/// A schema in the making.
#[derive(Default)]
struct Sheet {
    schema: Schema,
    /// Lists of alternatives: of each list, one holds.
    choices: Vec<Vec<Schema>>,
    /// What holds besides.
    members: Vec<Schema>,
    words: Vec<String>,
    /// What is said as it is written.
    rest: Schema,
}

impl Sheet {
    fn keep(&mut self, keyword: &str, value: impl Into<Value>) {
        self.schema.insert(keyword.to_owned(), value.into());
    }

    fn say(&mut self, words: impl Into<String>) {
        self.words.push(words.into());
    }

    fn take(&mut self, keyword: &str, value: &Value, all: &Schema) {
        match (keyword, value) {
            ("description" | "title", Value::String(_))
            | ("minimum" | "maximum" | "minItems" | "maxItems", Value::Number(_))
            | ("required" | "propertyOrdering", Value::Array(_)) => self.keep(keyword, value.clone()),
            ("type", Value::String(name)) if all.get("nullable") == Some(&Value::Bool(true)) && name != "null" => {
                self.keep("type", json!([name, "null"]));
            }
            ("type", Value::String(_)) => self.keep(keyword, value.clone()),
            ("type", Value::Array(names)) => self.types(names),
            ("enum", Value::Array(values)) => self.values(values),
            ("const", value) => self.values(std::slice::from_ref(value)),
            ("properties", Value::Object(named)) => {
                let named = named.iter().map(|(name, schema)| (name.clone(), Value::Object(translate(schema))));
                self.keep(keyword, Value::Object(named.collect()));
            }
            ("additionalProperties", _) if all.contains_key("patternProperties") => {
                self.rest.insert(keyword.to_owned(), value.clone());
            }
            ("additionalProperties", Value::Bool(_)) => self.keep(keyword, value.clone()),
            ("items", Value::Array(list)) => self.keep("prefixItems", list_of(list)),
            ("prefixItems", Value::Array(list)) => self.keep(keyword, list_of(list)),
            ("additionalItems", value) if all.get("items").is_some_and(Value::is_array) => {
                self.keep("items", translate(value));
                if *value == Value::Bool(false) {
                    self.say("No further elements.");
                }
            }
            // Beside anything but a list it means nothing.
            ("additionalItems", _) => {}
            ("items" | "additionalProperties", schema) => self.keep(keyword, translate(schema)),
            ("anyOf" | "oneOf", Value::Array(list)) if !list.is_empty() => {
                self.choices.push(list.iter().map(translate).collect());
            }
            ("allOf", Value::Array(list)) => self.members.extend(list.iter().map(translate)),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                self.keep(keyword, value.clone())
            }
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Number(_)) => {
                let is_least = keyword == "exclusiveMinimum";
                let (plain, word) = if is_least { ("minimum", "Greater") } else { ("maximum", "Less") };
                self.members.push(only(plain, value.clone()));
                self.say(format!("{word} than {value}."));
            }
            ("format", Value::String(format)) => self.say(format!("Format: {format}.")),
            ("pattern", Value::String(pattern)) => self.say(format!("Must match the regular expression `{pattern}`.")),
            ("minLength", _) => self.say(format!("At least {value} characters.")),
            ("maxLength", _) => self.say(format!("At most {value} characters.")),
            ("multipleOf", _) => self.say(format!("A multiple of {value}.")),
            ("minProperties", _) => self.say(format!("At least {value} properties.")),
            ("maxProperties", _) => self.say(format!("At most {value} properties.")),
            ("uniqueItems", Value::Bool(true)) => self.say("No two elements are equal."),
            ("default", _) => self.say(format!("Default: {value}.")),
            ("example", _) => self.say(format!("Example: {value}.")),
            ("examples", Value::Array(list)) => {
                let shown: Vec<_> = list.iter().map(Value::to_string).collect();
                self.say(format!("Examples: {}.", shown.join(", ")));
            }
            ("deprecated", Value::Bool(true)) => self.say("Deprecated."),
            // `nullable` is read with `type`; the others say nothing about an input.
            ("nullable" | "readOnly" | "writeOnly", _)
            | ("uniqueItems" | "deprecated", Value::Bool(false))
            | ("unevaluatedProperties" | "unevaluatedItems", Value::Bool(true)) => {}
            _ => {
                self.rest.insert(keyword.to_owned(), value.clone());
            }
        }
    }

    /// A `type` of several: one with `null` is a type of Vertex's as well, more are alternatives.
    fn types(&mut self, names: &[Value]) {
        let mut real = names.iter().filter(|name| *name != "null");
        match (real.next(), real.next()) {
            (Some(name), None) if names.len() == 1 => self.keep("type", name.clone()),
            (Some(_), None) => self.keep("type", names.to_vec()),
            (None, _) => self.keep("type", "null"),
            _ => self.choices.push(names.iter().filter_map(Value::as_str).map(|name| only("type", name)).collect()),
        }
    }

    /// The values of an `enum`: text and numbers are values of Vertex's as well, of other values it knows the type.
    fn values(&mut self, values: &[Value]) {
        type Is = fn(&Value) -> bool;
        let kinds: [(&str, Is); 6] = [
            ("string", Value::is_string),
            ("number", Value::is_number),
            ("null", Value::is_null),
            ("boolean", Value::is_boolean),
            ("array", Value::is_array),
            ("object", Value::is_object),
        ];
        let mut choices = Vec::new();
        for (name, is) in kinds {
            let values: Vec<_> = values.iter().filter(|value| is(value)).cloned().collect();
            let mut choice = only("type", name);
            match (name, values.len()) {
                (_, 0) => continue,
                // The API takes no empty value.
                ("string" | "number", _) if values.iter().all(|value| value != "") => {
                    choice.insert("enum".to_owned(), values.into());
                }
                ("null", _) | ("boolean", 2..) => {}
                _ => drop(choice.insert("description".to_owned(), one_of(&values).into())),
            }
            choices.push(choice);
        }
        self.choices.extend((!choices.is_empty()).then_some(choices));
    }

    /// Puts it all together: an `anyOf` has only the description next to it, as the API requires.
    fn finish(mut self) -> Schema {
        let mut base = self.members.into_iter().fold(self.schema, both);
        let mut head = take_head(&mut base);
        let mut alternatives = vec![base];
        for choices in self.choices {
            if alternatives.len() * choices.len() > MAX_ALTERNATIVES {
                self.rest.insert("anyOf".to_owned(), choices.into_iter().map(Value::Object).collect());
                continue;
            }
            let spread =
                alternatives.iter().flat_map(|one| choices.iter().map(|other| both(one.clone(), other.clone())));
            alternatives = spread.flat_map(branches).collect();
        }
        alternatives.dedup();
        if !self.rest.is_empty() {
            self.words.push(format!("As JSON Schema, this holds as well: {}.", Value::Object(self.rest)));
        }
        add_words(&mut head, &self.words);
        match <[Schema; 1]>::try_from(alternatives) {
            Ok([only]) => both(head, only),
            Err(many) => {
                head.insert("anyOf".to_owned(), many.into_iter().map(Value::Object).collect());
                head
            }
        }
    }
}

/// The alternatives of a schema that is nothing but alternatives.
fn branches(mut schema: Schema) -> Vec<Schema> {
    if schema.len() > 1 {
        return vec![schema];
    }
    match schema.remove("anyOf") {
        Some(Value::Array(list)) => list.into_iter().filter_map(object).collect(),
        Some(other) => vec![only("anyOf", other)],
        None => vec![schema],
    }
}

fn object(value: Value) -> Option<Schema> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn list_of(list: &[Value]) -> Value {
    list.iter().map(|schema| Value::Object(translate(schema))).collect()
}

fn one_of(values: &[Value]) -> String {
    let shown: Vec<_> = values.iter().map(Value::to_string).collect();
    format!("One of: {}.", shown.join(", "))
}

fn add_words(schema: &mut Schema, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim_end();
    let words = words.join(" ");
    let description = if said.is_empty() { words } else { format!("{said} {words}") };
    schema.insert("description".to_owned(), description.into());
}

/// One object for alternatives of the whole input, which the API does not take: it has the properties of all of them,
/// and what all of them require. A property that one alternative has and another leaves open is described as the one
/// has it.
fn unite(mut head: Schema, alternatives: Vec<Value>) -> Schema {
    let words = format!("The input is one of: {}.", Value::Array(alternatives.clone()));
    let alternatives: Vec<Schema> = alternatives.into_iter().filter_map(object).collect();
    let mut properties = Schema::new();
    for (name, schema) in alternatives.iter().filter_map(|one| one.get("properties")?.as_object()).flatten() {
        match properties.get_mut(name) {
            None => {
                properties.insert(name.clone(), schema.clone());
            }
            Some(known) if known == schema => {}
            Some(known) => *known = either(known.take(), schema.clone()),
        }
    }
    let list = |one: &Schema| one.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let required = alternatives.first().map(list).unwrap_or_default();
    let required: Vec<_> =
        required.into_iter().filter(|name| alternatives.iter().all(|one| list(one).contains(name))).collect();
    head.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        head.insert("required".to_owned(), required.into());
    }
    if alternatives.iter().all(|one| one.get("additionalProperties") == Some(&Value::Bool(false))) {
        head.insert("additionalProperties".to_owned(), false.into());
    }
    add_words(&mut head, &[words]);
    head
}

/// A schema for what one or the other allows.
fn either(known: Value, other: Value) -> Value {
    let alternatives = |schema: Value| object(schema).map(branches).unwrap_or_default();
    let mut all: Vec<Schema> = alternatives(known);
    for one in alternatives(other) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    json!({ "anyOf": all })
}

/// What the API wants of every schema: that a list says what is in it, and that what is required is described.
fn settle(schema: &mut Schema) {
    let is_list = schema.get("type").is_some_and(|name| name == "array" || *name == json!(["array", "null"]));
    if is_list && !schema.contains_key("items") {
        schema.insert("items".to_owned(), json!({}));
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &Value| name.as_str().is_some_and(|name| known.is_some_and(|known| known.contains_key(name)));
    let (kept, unknown): (Vec<_>, Vec<_>) =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().cloned().partition(is_known);
    if !unknown.is_empty() {
        add_words(schema, &[format!("Required as well: {}.", Value::Array(unknown))]);
    }
    if kept.is_empty() {
        schema.shift_remove("required");
    } else {
        schema.insert("required".to_owned(), kept.into());
    }
    inner(schema).filter_map(Value::as_object_mut).for_each(settle);
}
