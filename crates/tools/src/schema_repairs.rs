//! What a model meant where an input does not match its schema: a number or a boolean that it wrote as text, and `null` for a property
//! that it left out.
//!
//! An input that matches is never changed, and a change counts only if the input matches afterwards.

use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::{Number, Value};

/// How many digits a number with a fraction keeps whatever they are.
const EXACT_DIGITS: usize = 15;

/// An input without what these errors complain about, as far as that can be repaired.
pub(super) fn repaired<'a>(input: &Value, errors: impl Iterator<Item = ValidationError<'a>>) -> Value {
    let mut repaired = input.clone();
    for error in errors {
        repair(&error, &mut repaired);
    }
    repaired
}

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
