//! The built-in tools, one file each.
//!
//! Every tool has a strict schema: all properties are required, those that may be left out may be null, and no
//! others are taken. Every tool takes a `label`, the model's own short word on what the call is for, which only the
//! preview shows.

mod bash;
mod edit;
mod files;
mod nearest;
mod read;
mod replace;
mod write;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::{Context, Definition, Handler, NativeTool, Outcome};

/// How long a file tool has to end after it was cancelled.
const PATIENCE: Duration = Duration::from_secs(1);

/// All built-in tools.
pub fn all() -> Vec<Definition> {
    vec![bash::definition(), edit::definition(), read::definition(), write::definition()]
}

/// A strict definition whose properties are `properties` (a JSON object of schemas) and a `label`.
fn define(name: &str, description: &str, properties: Value, tool: impl NativeTool + 'static) -> Definition {
    let label = json!({
        "type": ["string", "null"],
        "description": "What this call is for, in a few words. Shown to the user.",
    });
    let mut all = Map::from_iter([("label".to_owned(), label)]);
    if let Value::Object(properties) = properties {
        all.extend(properties);
    }
    let required: Vec<&String> = all.keys().collect();
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": all,
        "additionalProperties": false,
    });
    let mut definition = Definition::new(name, description, schema, Handler::Native(Arc::new(tool)));
    definition.strict = true;
    definition
}

/// A string in the input.
fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, String> {
    input.get(name).and_then(Value::as_str).ok_or_else(|| format!("`{name}` is missing: it must be a string."))
}

/// A whole number in the input that may be null; models write `5.0` for `5` now and then.
fn count(input: &Value, name: &str) -> Result<Option<u64>, String> {
    match input.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match (value.as_u64(), value.as_f64()) {
            (Some(number), _) => Ok(Some(number)),
            (None, Some(number)) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            _ => Err(format!("`{name}` must be a whole number that is not negative, not {value}.")),
        },
    }
}

/// Runs what blocks on the disk on a thread that may. `Err` is the message of a failure.
///
/// The work looks at `context.cancel` itself where it can stop. What does not answer (a network share that is gone)
/// is given up after [`PATIENCE`] or the call's timeout, so that a conversation is never stuck on it.
async fn blocking(context: Context, work: impl FnOnce(&Context) -> Result<String, String> + Send + 'static) -> Outcome {
    let (cancel, timeout) = (context.cancel.clone(), context.timeout);
    let mut task = tokio::task::spawn_blocking(move || work(&context));
    let given_up = async {
        tokio::select! {
            () = tokio::time::sleep(timeout) => format!("within {} seconds", timeout.as_secs_f64()),
            () = async { cancel.cancelled().await; tokio::time::sleep(PATIENCE).await } => "until it was cancelled".into(),
        }
    };
    tokio::select! {
        done = &mut task => match done {
            Ok(Ok(text)) => Outcome::text(text),
            Ok(Err(error)) => Outcome::failure(error),
            Err(error) => Outcome::failure(format!("The tool broke down: {error}. This is a bug in Flemma.")),
        },
        when = given_up => Outcome::failure(format!(
            "The file system did not answer {when}. If the call changes a file, that may still happen."
        )),
    }
}

/// `1 line`, `2 lines`.
fn lines(number: usize) -> String {
    if number == 1 { "1 line".to_owned() } else { format!("{number} lines") }
}

/// `line 3`, `lines 3-5`.
fn line_range(first: usize, count: usize) -> String {
    if count <= 1 { format!("line {first}") } else { format!("lines {first}-{}", first + count - 1) }
}
