//! Elements and JSON: what the input of a call is in each.
//!
//! A property is an element of its name. The items of a list are `<item>` elements in it, or the element is repeated. An
//! attribute is the property of its name, or else one of `_attr`. What a text means depends on the schema of the tool.

use serde_json::{Map, Number, Value};

use crate::reply;
use flemma_text::is_quickly_checked;
use flemma_text::xml::{Element, Node};

/// The key of an element's attributes.
pub(super) const ATTRIBUTES: &str = "_attr";

/// The element of a call's input, if its tool has no property of that name. Several of them are several calls.
const ACTION: &str = "action";

/// The element of an item.
const ITEM: &str = "item";

/// The element of a property whose name cannot be that of an element.
const PARAMETER: &str = "param";

/// The inputs of the calls in a `<tool>`. `source` is the text that it was read from.
pub(super) fn inputs(tool: &Element, schema: Option<&Value>, source: &str) -> Vec<Value> {
    let is_free = schema.is_some_and(|schema| property(schema, ACTION).is_none());
    let only_actions = has_children(tool) && tool.children().all(|child| child.name == ACTION);
    if is_free && only_actions {
        return tool.children().map(|action| object(action, schema, source)).collect();
    }
    vec![object(&without_name(tool), schema, source)]
}

fn has_children(element: &Element) -> bool {
    element.children().next().is_some()
}

/// The element without the attribute that says what it is.
fn without_name(element: &Element) -> Element {
    let mut bare = element.clone();
    bare.attributes.retain(|(name, _)| name != "name");
    bare
}

/// The element of a call.
pub(super) fn call(name: &str, input: &Value) -> Element {
    let mut tool = element("tool", input);
    tool.attributes.insert(0, ("name".to_owned(), name.to_owned()));
    tool
}

/// An element of this name for a value.
fn element(name: &str, value: &Value) -> Element {
    let mut element =
        Element { name: name.to_owned(), attributes: Vec::new(), content: Vec::new(), inner: 0..0, has_cdata: false };
    match value {
        Value::Object(entries) => {
            for (key, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
                match value {
                    Value::Object(attributes) if key == ATTRIBUTES => {
                        let attributes = attributes.iter().map(|(name, value)| (name.clone(), text_of(value)));
                        element.attributes.extend(attributes);
                    }
                    value => element.content.push(Node::Element(named(key, value))),
                }
            }
        }
        Value::Array(items) => {
            element.content = items.iter().map(|item| Node::Element(self::element(ITEM, item))).collect();
        }
        value => {
            let text = Some(text_of(value)).filter(|text| !value.is_null() && !text.is_empty());
            element.content.extend(text.map(Node::Text));
        }
    }
    element
}

fn named(key: &str, value: &Value) -> Element {
    if is_name(key) {
        return element(key, value);
    }
    let mut parameter = element(PARAMETER, value);
    parameter.attributes.insert(0, ("name".to_owned(), key.to_owned()));
    parameter
}

/// A value as text.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_name(key: &str) -> bool {
    let is_start = |letter: char| letter.is_alphabetic() || letter == '_';
    key.starts_with(is_start)
        && key.chars().all(|letter| is_start(letter) || letter.is_numeric() || "-.".contains(letter))
}

type ReadWord = fn(&str) -> Option<Value>;

/// The types of a word that are not text, and how it is read as each.
const KINDS: [(&str, ReadWord); 3] = [
    ("boolean", |word| Some(word.parse::<bool>().ok()?.into())),
    ("integer", |word| Some(word.parse::<i64>().ok()?.into())),
    ("number", |word| Some(Number::from_f64(word.parse().ok()?)?.into())),
];

/// What an element means where the schema wants this.
fn value(element: &Element, schema: Option<&Value>, source: &str) -> Value {
    let schema = schema.map(|schema| choice(schema, element, source));
    let types = schema.map(types).unwrap_or_default();
    let has_children = has_children(element);
    let text = element.text();
    if types.contains(&"array") {
        return Value::Array(items(element, schema, source));
    }
    if types.contains(&"object") || (types.is_empty() && (has_children || !element.attributes.is_empty())) {
        return object(element, schema, source);
    }
    if has_children {
        // Markup where the schema wants text was meant as text.
        return source.get(element.inner.clone()).unwrap_or_default().trim_matches('\n').into();
    }
    let word = text.trim();
    if types.contains(&"null") && word.is_empty() && !types.contains(&"string")
        || word == "null" && types.contains(&"null")
    {
        return Value::Null;
    }
    let read = KINDS.iter().filter(|(kind, _)| types.contains(kind)).find_map(|(_, read)| read(word));
    if let Some(value) = read.filter(|_| !types.contains(&"string")) {
        return value;
    }
    // The blanks around one line are layout, as is the line break after the tag.
    let is_one_line = !text.trim_matches(['\n', '\r', ' ', '\t']).contains('\n');
    if element.has_cdata {
        text.into()
    } else if is_one_line {
        word.into()
    } else {
        text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(&text).into()
    }
}

fn object(element: &Element, schema: Option<&Value>, source: &str) -> Value {
    let mut entries = Map::new();
    let mut attributes = Map::new();
    let has_own = schema.is_some_and(|schema| property(schema, ATTRIBUTES).is_some());
    for (name, text) in &element.attributes {
        let known = schema.and_then(|schema| property(schema, name)).filter(|_| !has_own);
        if known.is_some() {
            let leaf = self::element(name, &Value::from(text.as_str()));
            entries.insert(name.clone(), value(&leaf, known, source));
        } else {
            attributes.insert(name.clone(), text.as_str().into());
        }
    }
    if !attributes.is_empty() {
        entries.insert(ATTRIBUTES.to_owned(), Value::Object(attributes));
    }
    for child in element.children() {
        let name = key(child, schema);
        let known = schema.and_then(|schema| property(schema, name));
        let value =
            if name == child.name { value(child, known, source) } else { value(&without_name(child), known, source) };
        match (entries.get_mut(name), value) {
            (Some(Value::Array(before)), Value::Array(more)) => before.extend(more),
            // The schema wants one, but the model has more: the check of the input says so.
            (Some(Value::Array(before)), value) => before.push(value),
            (Some(before), value) => *before = Value::Array(vec![before.take(), value]),
            (None, value) => drop(entries.insert(name.to_owned(), value)),
        }
    }
    Value::Object(entries)
}

/// The items of a list in one element.
fn items(element: &Element, schema: Option<&Value>, source: &str) -> Vec<Value> {
    let item = schema.and_then(|schema| schema.get("items"));
    let own = item.map(|item| choice(item, element, source));
    let is_item = |child: &Element| own.is_some_and(|item| property(item, key(child, own)).is_some());
    let has_children = has_children(element);
    if element.children().any(is_item) || !has_children && !element.attributes.is_empty() {
        // It is repeated for each item.
        return vec![value(element, item, source)];
    }
    if has_children {
        return element.children().map(|child| value(child, item, source)).collect();
    }
    let is_blank = element.text().trim().is_empty();
    if is_blank { Vec::new() } else { vec![value(element, item, source)] }
}

/// The one of several schemas that an element was written for; the schema itself where it is one.
fn choice<'a>(schema: &'a Value, element: &Element, source: &str) -> &'a Value {
    let Some(choices) = choices(schema) else { return schema };
    let is = |choice: &&Value, kind: &str| types(choice).contains(&kind);
    let is_text = |choice: &&Value| !is(choice, "object") && !is(choice, "array");
    let mut objects = choices.iter().filter(|choice| is(choice, "object"));
    if choices.iter().all(|choice| is_text(&choice)) {
        return schema;
    }
    let has_children = has_children(element);
    let is_list = has_children && element.children().all(|child| child.name == ITEM);
    let chosen = if !has_children && element.attributes.is_empty() && !element.content.is_empty() {
        choices.iter().find(is_text)
    } else if is_list && objects.clone().all(|choice| property(choice, ITEM).is_none()) {
        choices.iter().find(|choice| is(choice, "array"))
    } else {
        let fits = |choice: &&Value| has_all_of(choice, element) && has_values_of(choice, element);
        let first = objects.clone().next();
        // An empty one may be an empty text.
        let text = choices.iter().find(is_text).filter(|_| element.content.is_empty() && element.attributes.is_empty());
        let keeps = |choice: &Value| element.attributes.is_empty() || property(choice, ATTRIBUTES).is_some();
        let mut fitting: Vec<&Value> = objects.clone().filter(fits).collect();
        fitting.sort_by_key(|choice| !keeps(choice));
        // Elements of the same names may still mean something else.
        let is_valid = |choice: &&&Value| {
            let value = object(element, Some(choice), source);
            let compiled = jsonschema::options().offline().build(choice);
            compiled.is_ok_and(|schema| is_quickly_checked(choice, &value) && schema.is_valid(&value))
        };
        let best = (fitting.len() > 1).then(|| fitting.iter().find(is_valid)).flatten().or(fitting.first()).copied();
        best.or(text).or_else(|| objects.find(|choice| has_values_of(choice, element))).or(first)
    };
    chosen.map_or(schema, |chosen| choice(chosen, element, source))
}

/// Whether an object of this schema has the properties that an element has, and an element those that it has to have.
fn has_all_of(schema: &Value, element: &Element) -> bool {
    let has = |name: &str| {
        let is_attributes = name == ATTRIBUTES && !element.attributes.is_empty();
        is_attributes
            || element.children().any(|child| key(child, Some(schema)) == name)
            || element.attribute(name).is_some()
    };
    element.children().all(|child| property(schema, key(child, Some(schema))).is_some()) && required(schema).all(has)
}

/// Whether an element has the attributes that the schema requires, with values that it allows.
fn has_values_of(schema: &Value, element: &Element) -> bool {
    let Some(own) = property(schema, ATTRIBUTES) else { return true };
    required(own).all(|name| element.attribute(name).is_some())
        && properties(own).all(|(name, schema)| {
            let allowed = schema.get("enum").and_then(Value::as_array);
            let value = element.attribute(name);
            allowed.zip(value).is_none_or(|(allowed, value)| allowed.iter().any(|one| one == value))
        })
}

/// The property that an element stands for in an object of this schema.
fn key<'a>(element: &'a Element, schema: Option<&Value>) -> &'a str {
    let has = |name: &str| schema.is_some_and(|schema| property(schema, name).is_some());
    let name = element.attribute("name").filter(|name| element.name == PARAMETER && (has(name) || !has(PARAMETER)));
    name.unwrap_or(&element.name)
}

/// The properties of an object, by their names.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// The names of the properties that an object has to have.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    reply::items(schema, "required").iter().filter_map(Value::as_str)
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// The schemas of which a value fits one.
pub(super) fn choices(schema: &Value) -> Option<&Vec<Value>> {
    ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array())
}

/// The types that a schema allows; none for any.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if schema
            .get("enum")
            .is_some_and(|values| values.as_array().is_some_and(|values| values.iter().all(Value::is_string))) =>
        {
            vec!["string"]
        }
        _ if schema.get("properties").is_some() => vec!["object"],
        _ => choices(schema).into_iter().flatten().flat_map(types).collect(),
    }
}
