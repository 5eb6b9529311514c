//! JSON Schema: checks definitions when they are registered, inputs before they are approved and run, and
//! answers before they are results.
//!
//! The `jsonschema` crate decides what is valid. Its findings become a message that a model can act on: the invalid path,
//! and what is wrong there (`schema_errors`). References to other documents are not followed.
//!
//! What a model meant where an input does not match its schema is repaired: a number or a boolean that it wrote as text, and `null` for a
//! property that it left out. An input that matches is never changed, and a change counts only if the input matches afterwards.

use std::{borrow::Cow, sync::Arc};

use jsonschema::{
    JsonType, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::{Map, Number, Value};

use super::schema_errors::{describe, pointer};
use flemma_model::UserError;
use flemma_text::is_quickly_checked;

/// The maximum number of errors in a message.
const MAX_MISTAKES: usize = 5;

/// How many digits a number with a fraction keeps whatever they are.
const EXACT_DIGITS: usize = 15;

/// What is wrong with a value: a mistake for each invalid path. The audience is whoever gave the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerMistakes(pub(super) Vec<String>);

impl AnswerMistakes {
    /// All mistakes in one sentence, for the user.
    pub fn sentence(&self) -> String {
        self.0.join("; ")
    }

    /// A list with a line for each of them, for a model.
    pub fn list(&self) -> String {
        self.0.iter().map(|mistake| format!("- {mistake}")).collect::<Vec<_>>().join("\n")
    }
}

/// Checks an answer against the schema of a tool that is not known here. A schema that is not valid checks nothing.
///
/// # Errors
/// Each invalid path with the expected and the actual value, a line each.
pub fn check_answer(schema: &Value, answer: &Value) -> Result<(), AnswerMistakes> {
    CompiledSchema::compile(&Arc::new(schema.clone())).map_or(Ok(()), |schema| schema.check("the answer", answer))
}

/// A compiled schema.
#[derive(Clone, Debug)]
pub(super) struct CompiledSchema {
    validator: Validator,
    /// The schema itself, to know which properties there are.
    schema: Arc<Value>,
}

impl CompiledSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If it is not a JSON Schema, or refers to something outside it. The message continues a sentence that
    /// begins with the field's name.
    pub(super) fn compile(schema: &Arc<Value>) -> Result<Self, UserError> {
        let validator = jsonschema::options().offline().build(schema).map_err(|error| {
            let place = pointer(&error, "its top level");
            UserError::new(format!("is not a valid JSON Schema: at {place}, {}", describe(&error, &Value::Null)))
        })?;
        Ok(Self { validator, schema: Arc::clone(schema) })
    }

    /// An input as a tool gets it: numbers and booleans that are written as text are what the schema wants, and properties that may
    /// not be null are missing. Messages call it `subject`: "the input".
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn take<'a>(&self, subject: &str, input: &'a Value) -> Result<Cow<'a, Value>, AnswerMistakes> {
        self.check_bounds(subject, input)?;
        let Err(mistakes) = self.check(subject, input) else { return Ok(Cow::Borrowed(input)) };
        let mut repaired = input.clone();
        self.validator.iter_errors(input).for_each(|error| repair(&error, &mut repaired));
        if self.check(subject, &repaired).is_ok() { Ok(Cow::Owned(repaired)) } else { Err(mistakes) }
    }

    /// Checks a value, which messages call `subject`: "the input".
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn check(&self, subject: &str, input: &Value) -> Result<(), AnswerMistakes> {
        self.check_bounds(subject, input)?;
        let mut errors = self.validator.iter_errors(input).filter(|error| !self.may_be_missing(error));
        let mistake = |error| format!("{}: {}", pointer(&error, subject), describe(&error, &self.schema));
        let mut mistakes: Vec<String> = errors.by_ref().take(MAX_MISTAKES).map(mistake).collect();
        match errors.count() {
            0 if mistakes.is_empty() => return Ok(()),
            0 => {}
            more => mistakes.push(format!("and {more} more")),
        }
        Err(AnswerMistakes(mistakes))
    }

    fn check_bounds(&self, subject: &str, input: &Value) -> Result<(), AnswerMistakes> {
        if is_quickly_checked(&self.schema, input) {
            return Ok(());
        }
        let problem = "cannot be checked, because following the references (`$ref`) of the schema takes too many steps; \
                       give less, or have the author of the tool simplify its schema";
        Err(AnswerMistakes(vec![format!("{subject}: {problem}")]))
    }

    /// The same for an answer, which may be the JSON text of what is expected.
    ///
    /// # Errors
    /// What is wrong, and what to do.
    pub(super) fn check_answer(&self, subject: &str, answer: &Value) -> Result<(), AnswerMistakes> {
        let Err(AnswerMistakes(mut mistakes)) = self.check(subject, answer) else { return Ok(()) };
        let meant: Option<Value> = answer.as_str().and_then(|text| serde_json::from_str(text).ok());
        let advice = match meant {
            Some(Value::Object(_) | Value::Array(_)) => Some("pass a table, and not its JSON text"),
            Some(value) if self.check(subject, &value).is_ok() => Some("pass the value itself, and not its text"),
            _ => None,
        };
        mistakes.extend(advice.map(str::to_owned));
        Err(AnswerMistakes(mistakes))
    }

    /// Whether an error is about a top-level property that may be null, and may therefore be missing.
    fn may_be_missing(&self, error: &ValidationError<'_>) -> bool {
        let Kind::Required { property } = error.kind() else { return false };
        let known = property.as_str().and_then(|name| self.schema.get("properties")?.get(name));
        error.instance_path().as_str().is_empty() && known.is_some_and(allows_null)
    }
}

/// Whether a schema accepts null, as far as can be seen without following references.
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

/// Whether a schema, which is at this path in another one, follows strict mode: in every object, all properties are required and no
/// others are allowed.
/// See <https://platform.openai.com/docs/guides/structured-outputs>.
///
/// # Errors
/// The first place that breaks a rule, with the fix.
pub(super) fn check_strict(schema: &Value, path: &str) -> Result<(), UserError> {
    let place = if path.is_empty() { "its top level".to_owned() } else { format!("`{path}`") };
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if let Some(missing) = properties.keys().find(|name| !required.iter().any(|known| known == name.as_str())) {
            return Err(UserError::new(format!(
                "does not follow strict mode at {place}: `{missing}` is not in `required`; list it there, and add \"null\" to its \
                 type if it is optional"
            )));
        }
    }
    let is_object = schema.get("type").is_some_and(|kind| kind == "object") || schema.get("properties").is_some();
    if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(UserError::new(format!(
            "does not follow strict mode at {place}: set `additionalProperties` to false"
        )));
    }
    subschemas(schema).into_iter().try_for_each(|(key, inner)| check_strict(inner, &format!("{path}/{key}")))
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

/// Takes out of an input what an error complains about, as far as that can be repaired.
fn repair(error: &ValidationError<'_>, input: &mut Value) {
    let place = error.instance_path().as_str();
    let is_null = |name: &&String| error.instance().get(name.as_str()).is_some_and(Value::is_null);
    match (error.kind(), &**error.instance()) {
        (Kind::AnyOf { context } | Kind::OneOfNotValid { context }, _) => {
            context.iter().flatten().for_each(|error| repair(error, input));
        }
        (Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected }, _) => {
            for name in unexpected.iter().filter(is_null) {
                drop_property(input, place, name);
            }
        }
        (_, Value::Null) => {
            if let Some((parent, name)) = place.rsplit_once('/') {
                drop_property(input, parent, &name.replace("~1", "/").replace("~0", "~"));
            }
        }
        (kind, Value::String(text)) => {
            if let (Some(value), Some(place)) =
                (meant(text).filter(|value| wants(kind, value)), input.pointer_mut(place))
            {
                *place = value;
            }
        }
        _ => {}
    }
}

fn drop_property(input: &mut Value, place: &str, name: &str) {
    if let Some(Value::Object(object)) = input.pointer_mut(place) {
        object.shift_remove(name);
    }
}

/// Whether a schema accepts no text in this place, and a value like this.
fn wants(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Type { kind } => {
            let wants = |wanted: JsonType| match wanted {
                JsonType::Number | JsonType::Integer => value.is_number(),
                JsonType::Boolean => value.is_boolean(),
                _ => false,
            };
            match kind {
                TypeKind::Single(kind) => wants(*kind),
                TypeKind::Multiple(kinds) => kinds.iter().any(wants),
            }
        }
        Kind::Enum { options } => options.as_array().is_some_and(|options| options.contains(value)),
        Kind::Constant { expected_value } => **expected_value == *value,
        _ => false,
    }
}

/// The number or the boolean that a text is, if nothing of it is lost.
fn meant(text: &str) -> Option<Value> {
    match text {
        "true" => return Some(true.into()),
        "false" => return Some(false.into()),
        // What reads JSON skips white space.
        _ if text.contains(char::is_whitespace) => return None,
        _ => {}
    }
    let number: Number = serde_json::from_str(text).ok()?;
    let digits: String = text.split(['e', 'E']).next()?.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0').len();
    let is_exact = digits == 0 || (digits <= EXACT_DIGITS && number.as_f64().is_some_and(f64::is_normal));
    (!number.is_f64() || is_exact).then_some(Value::Number(number))
}

/// Puts the keys of each object into the order in which `schema` lists its properties. Keys that the schema does not name
/// follow in the order that they have. A Lua table has no order of its own.
pub fn arranged(value: Value, schema: &Value) -> Value {
    match value {
        Value::Object(mut entries) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let mut ordered = Map::with_capacity(entries.len());
            for (name, schema) in properties.into_iter().flatten() {
                // `remove` would fill the gap with the last entry.
                if let Some(value) = entries.shift_remove(name) {
                    ordered.insert(name.clone(), arranged(value, schema));
                }
            }
            ordered.extend(entries);
            Value::Object(ordered)
        }
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| arranged(item, schema)).collect(),
            None => Value::Array(items),
        },
        plain => plain,
    }
}
