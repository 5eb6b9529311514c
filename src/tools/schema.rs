//! JSON Schema: checks definitions when they are registered, and inputs before they are approved and run.
//!
//! The `jsonschema` crate decides what is valid; this module turns what it finds into messages that a model can act
//! on: the path that is wrong, what was expected, what came. References to other documents are not followed.

use jsonschema::{ValidationError, Validator, error::TypeKind, error::ValidationErrorKind as Kind};
use serde_json::Value;

use crate::config::suggest::nearest;

/// How many mistakes a message lists.
const MAX_MISTAKES: usize = 5;

/// How much of a value a message quotes, in characters.
const MAX_QUOTE: usize = 60;

/// A compiled schema.
#[derive(Clone, Debug)]
pub(super) struct InputSchema {
    validator: Validator,
    /// Top-level properties that may be null, and may therefore be missing.
    nullable: Vec<String>,
    /// All top-level properties: to suggest one for an unknown name.
    properties: Vec<String>,
}

impl InputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When it is no JSON Schema, or refers to something that is not in it. The message continues a sentence that
    /// begins with the field's name.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options().offline().build(schema).map_err(|error| {
            let place = pointer(&error, "its top level");
            format!("is no valid JSON Schema: at {place}, {}", describe(&error))
        })?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = |wanted: &dyn Fn(&Value) -> bool| -> Vec<String> {
            let all = properties.into_iter().flatten();
            all.filter(|(_, schema)| wanted(schema)).map(|(name, _)| name.clone()).collect()
        };
        Ok(Self { validator, nullable: names(&allows_null), properties: names(&|_| true) })
    }

    /// Checks an input.
    ///
    /// # Errors
    /// A message for the model that lists what is wrong.
    pub(super) fn check(&self, tool: &str, input: &Value) -> Result<(), String> {
        let mut mistakes = Vec::new();
        let mut more = 0;
        for error in self.validator.iter_errors(input).filter(|error| !self.may_be_missing(error)) {
            if mistakes.len() == MAX_MISTAKES {
                more += 1;
                continue;
            }
            mistakes.push(format!("- {}: {}", pointer(&error, "the input"), self.mistake(&error)));
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        if more > 0 {
            mistakes.push(format!("- and {more} more"));
        }
        Err(format!("The input of `{tool}` does not match its schema:\n{}", mistakes.join("\n")))
    }

    fn may_be_missing(&self, error: &ValidationError<'_>) -> bool {
        match error.kind() {
            Kind::Required { property } => {
                error.instance_path().as_str().is_empty()
                    && property.as_str().is_some_and(|name| self.nullable.iter().any(|known| known == name))
            }
            _ => false,
        }
    }

    /// What is wrong, with the property that was meant where one is unknown.
    fn mistake(&self, error: &ValidationError<'_>) -> String {
        let mut text = describe(error);
        if let Kind::AdditionalProperties { unexpected } = error.kind()
            && error.instance_path().as_str().is_empty()
            && let Some(first) = unexpected.first()
            && let Some(near) = nearest(first, self.properties.iter().map(String::as_str))
        {
            text.push_str(&format!("; did you mean `{near}`?"));
        }
        text
    }
}

/// Whether a schema lets null through, as far as can be seen without following references.
fn allows_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => return kind == "null",
        Some(Value::Array(kinds)) => return kinds.iter().any(|kind| kind == "null"),
        _ => {}
    }
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    let listed = schema.get("enum").and_then(Value::as_array);
    choices.flatten().any(allows_null) || listed.is_some_and(|values| values.iter().any(Value::is_null))
}

/// Where in the value the mistake is, as a JSON pointer; `root` for the value itself.
fn pointer(error: &ValidationError<'_>, root: &str) -> String {
    match error.instance_path().as_str() {
        "" => root.to_owned(),
        path => format!("`{path}`"),
    }
}

/// What was expected, and what came.
fn describe(error: &ValidationError<'_>) -> String {
    let came = || quote(error.instance());
    match error.kind() {
        Kind::Type { kind } => format!("expected {}, got {}", type_names(kind), came()),
        Kind::Required { property } => format!("`{}` is missing", property.as_str().unwrap_or_default()),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| format!("`{}`", short(name))).collect();
            format!("unknown {} {}", if names.len() == 1 { "property" } else { "properties" }, names.join(", "))
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let names: Vec<String> = options.iter().map(Value::to_string).collect();
            format!("expected one of {}, got {}", names.join(", "), came())
        }
        Kind::Constant { expected_value } => format!("expected {expected_value}, got {}", came()),
        Kind::Minimum { limit } => format!("expected at least {limit}, got {}", came()),
        Kind::Maximum { limit } => format!("expected at most {limit}, got {}", came()),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}, got {}", came()),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}, got {}", came()),
        Kind::Pattern { pattern } => format!("expected text that matches `{pattern}`, got {}", came()),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let choices: Vec<String> =
                context.iter().filter_map(|errors| errors.first()).map(describe_nested).collect();
            format!("none of the allowed forms fits {}: {}", came(), choices.join("; or "))
        }
        _ => format!("{}, got {}", error.masked_with("the value"), came()),
    }
}

/// A mistake inside one form of `anyOf` or `oneOf`: with its own place, since it may be deeper.
fn describe_nested(error: &ValidationError<'static>) -> String {
    format!("{}: {}", pointer(error, "the input"), describe(error))
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

/// A value as it is quoted in a message: what kind of thing it is, and its beginning.
fn quote(value: &Value) -> String {
    match value {
        Value::Object(object) if object.is_empty() => "an empty object".to_owned(),
        Value::Object(object) => format!("an object with {} properties", object.len()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::String(text) => format!("the string \"{}\"", short(text).escape_debug()),
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(_) | Value::Null => value.to_string(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What to tell a model whose input does not parse as JSON: the place, and what is there.
pub(super) fn malformed(tool: &str, text: &str) -> String {
    let problem = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => "it is no JSON object".to_owned(),
        Err(error) => error.to_string(),
    };
    format!("The input of `{tool}` is no valid JSON: {problem}. Send one JSON object that matches the tool's schema.")
}

/// Whether a schema obeys the rules of strict mode: in every object all properties are required and no others allowed.
/// See <https://platform.openai.com/docs/guides/structured-outputs>.
///
/// # Errors
/// The first place that breaks a rule, with the mend.
pub(super) fn check_strict(schema: &Value) -> Result<(), String> {
    check_strict_at(schema, &mut String::new())
}

fn check_strict_at(schema: &Value, path: &mut String) -> Result<(), String> {
    let place = |path: &str| if path.is_empty() { "its top level".to_owned() } else { format!("`{path}`") };
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if let Some(missing) = properties.keys().find(|name| !required.iter().any(|known| known == name.as_str())) {
            return Err(format!(
                "breaks strict mode at {}: `{missing}` is not in `required`; list it there, and add \"null\" to its \
                 type if it is optional",
                place(path)
            ));
        }
    }
    let is_object = schema.get("type").is_some_and(|kind| kind == "object") || schema.get("properties").is_some();
    if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(format!("breaks strict mode at {}: set `additionalProperties` to false", place(path)));
    }
    for (key, inner) in subschemas(schema) {
        let length = path.len();
        path.push('/');
        path.push_str(&key);
        check_strict_at(inner, path)?;
        path.truncate(length);
    }
    Ok(())
}

/// The schemas directly inside a schema, with their places.
fn subschemas(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for key in ["properties", "$defs", "definitions"] {
        let inner = schema.get(key).and_then(Value::as_object).into_iter().flatten();
        found.extend(inner.map(|(name, schema)| (format!("{key}/{name}"), schema)));
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let inner = schema.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
        found.extend(inner.map(|(index, schema)| (format!("{key}/{index}"), schema)));
    }
    found.extend(schema.get("items").map(|schema| ("items".to_owned(), schema)));
    found
}
