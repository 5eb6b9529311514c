//! Describes what is wrong with a value for a model: the expected value, the actual one, and what to do if that is not
//! obvious.
//!
//! Values are quoted in part, since an invalid one may be an entire file.

use jsonschema::{ValidationError, error::TypeKind, error::ValidationErrorKind as Kind};
use serde_json::Value;

use flemma_model::ModelError;
use flemma_text::{escape_controls, suggest::nearest, things, xml};

/// How much of a value a message quotes, in characters.
const MAX_QUOTE: usize = 60;

/// How much of a text that cannot be parsed is quoted before and after the position, in bytes.
const AROUND: usize = 20;

/// The position of the error in the value, as a JSON pointer; `root` for the value itself.
pub(super) fn pointer(error: &ValidationError<'_>, root: &str) -> String {
    match error.instance_path().as_str() {
        "" => root.to_owned(),
        path => format!("`{path}`"),
    }
}

/// The expected and the actual value. `schema` is the whole schema, for looking up names.
pub(super) fn describe(error: &ValidationError<'_>, schema: &Value) -> String {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => forms(error, context, schema),
        kind => match expected(error, schema) {
            Some(expected) => format!("expected {expected}, got {}", quote(error.instance())),
            None => other(error, kind, schema),
        },
    }
}

/// The text after the word "expected"; `None` for an error with a message of its own.
fn expected(error: &ValidationError<'_>, schema: &Value) -> Option<String> {
    Some(match error.kind() {
        Kind::Type { kind } => type_names(kind),
        Kind::Enum { options } => match options.as_array().map(Vec::as_slice).unwrap_or_default() {
            [only] => only.to_string(),
            options => format!("one of {}", options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")),
        },
        Kind::Constant { expected_value } => expected_value.to_string(),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("text of at least {}", things(*limit as usize, "character")),
        Kind::MaxLength { limit } => format!("text of at most {}", things(*limit as usize, "character")),
        Kind::Pattern { pattern } => format!("text that matches `{pattern}`"),
        Kind::Format { format } => format!("text in the format `{format}`"),
        Kind::MinItems { limit } => format!("at least {}", things(*limit as usize, "item")),
        Kind::MaxItems { limit } => format!("at most {}", things(*limit as usize, "item")),
        Kind::AdditionalItems { limit } => format!("at most {}", things(*limit, "item")),
        Kind::MinProperties { limit } => format!("at least {}", things(*limit as usize, "property")),
        Kind::MaxProperties { limit } => format!("at most {}", things(*limit as usize, "property")),
        Kind::Not { schema } => format!("anything but what matches {}", short(&schema.to_string())),
        Kind::Contains => {
            let wanted = schema.pointer(error.schema_path().as_str());
            let wanted = wanted.map(|wanted| format!(" that matches {}", short(&wanted.to_string())));
            format!("an item{}", wanted.unwrap_or_default())
        }
        _ => return None,
    })
}

/// Errors whose message does not need the value.
fn other(error: &ValidationError<'_>, kind: &Kind, schema: &Value) -> String {
    match kind {
        Kind::Required { property } => format!("`{}` is missing", property.as_str().unwrap_or_default()),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| format!("`{}`", short(name))).collect();
            let word = if names.len() == 1 { "property" } else { "properties" };
            let meant = unexpected.first().and_then(|first| near(first, error, schema));
            let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("unknown {word} {}{meant}", names.join(", "))
        }
        Kind::FalseSchema => "nothing is allowed here: leave it out".to_owned(),
        Kind::UniqueItems => "two items are the same: each item may occur only once".to_owned(),
        Kind::UnevaluatedItems { unexpected } => {
            format!("{} too many at the end", things(unexpected.len(), "item"))
        }
        Kind::PropertyNames { error } => {
            format!("the name of a property is not valid: {}", describe(error, schema))
        }
        Kind::OneOfMultipleValid { .. } => {
            format!("{} matches several of the allowed forms, but must match exactly one", quote(error.instance()))
        }
        _ => format!("{}, got {}", error.masked_with("the value"), quote(error.instance())),
    }
}

/// A value that matches none of several forms. If the forms only differ in one word (a type, a constant), this is a single
/// expectation. Otherwise each form is listed with its first error.
fn forms(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>], schema: &Value) -> String {
    let first: Vec<_> = context.iter().filter_map(|errors| errors.first()).collect();
    let here = |other: &ValidationError<'_>| other.instance_path() == error.instance_path();
    let simple = |other: &ValidationError<'_>| {
        here(other) && matches!(other.kind(), Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. })
    };
    let came = quote(error.instance());
    if first.iter().all(|error| simple(error)) {
        let mut expected: Vec<String> = first.iter().filter_map(|error| expected(error, schema)).collect();
        expected.dedup();
        return format!("expected {}, got {came}", expected.join(" or "));
    }
    let told = first.iter().map(|other| match expected(other, schema).filter(|_| here(other)) {
        Some(expected) => format!("expected {expected}"),
        None if here(other) => describe(other, schema),
        None => format!("{}: {}", pointer(other, "the input"), describe(other, schema)),
    });
    format!("{came} matches none of the allowed forms: either {}", told.collect::<Vec<_>>().join("; or "))
}

/// The property of the schema at the same place that an unknown name probably means.
fn near<'a>(name: &str, error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a str> {
    let (place, _) = error.schema_path().as_str().rsplit_once('/')?;
    let known = schema.pointer(place)?.get("properties")?.as_object()?;
    nearest(name, known.keys().map(String::as_str))
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

/// A value as it is quoted in a message: its type and its beginning.
fn quote(value: &Value) -> String {
    match value {
        Value::Object(object) if object.is_empty() => "an empty object".to_owned(),
        Value::Object(object) => format!("an object with {}", things(object.len(), "property")),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Array(items) => format!("an array of {}", things(items.len(), "item")),
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
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

/// The message for a model whose input is not a JSON object, or not the XML that stands for one: the position and the text
/// there.
pub(super) fn malformed(tool: &str, text: &str) -> ModelError {
    if text.trim_start().starts_with('<')
        && let Err(fault) = xml::parse(text)
    {
        return ModelError::new(format!("The call of `{tool}` is {fault}. Write the whole call again."));
    }
    let problem = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => "it is not an object".to_owned(),
            // It is JSON that nothing here can hold: a number is too large, or objects are nested too deep.
            Err(error) => return ModelError::new(format!("The input of `{tool}` cannot be read: {error}.")),
        },
        Err(_) if text.trim().is_empty() => "it is empty".to_owned(),
        Err(error) if error.is_eof() => {
            format!("it ends unexpectedly at line {} column {}", error.line(), error.column())
        }
        Err(error) => format!("{error}, in `{}`", around(text, error.line(), error.column())),
    };
    ModelError::new(format!(
        "The input of `{tool}` is not valid JSON: {problem}. Send one JSON object that matches the tool's schema."
    ))
}

/// The text around a position (in bytes, from 1) on one line.
fn around(text: &str, line: usize, column: usize) -> String {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = (start + column).min(text.len());
    let from = text.floor_char_boundary(at.saturating_sub(AROUND));
    let to = text.ceil_char_boundary((at + AROUND).min(text.len()));
    escape_controls(&text[from..to]).replace('`', "'")
}
