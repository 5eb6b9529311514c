//! The built-in tools, one file each.
//!
//! Every tool has a strict schema: all properties are required, those that may be left out may be null, and no
//! others are taken. Every tool but the calculators takes a `label`, the model's own short word on what the call is
//! for, which only the preview shows. The tools that only look (`grep`, `find`, `ls`) declare that nobody need be asked.

mod arithmetic;
mod bash;
mod calculator;
mod deadline;
mod edit;
mod files;
mod find;
mod globs;
mod grep;
mod ls;
mod matches;
mod nearest;
mod read;
mod replace;
mod report;
mod walk;
mod write;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{Context, DeclaredApproval, Definition, Executor, NativeTool, Outcome, seconds};

/// How long a file tool has to end after it was cancelled.
const PATIENCE: Duration = Duration::from_secs(1);

/// All built-in tools.
pub fn all() -> Vec<Definition> {
    vec![
        bash::definition(),
        calculator::definition(),
        calculator::definition_async(),
        edit::definition(),
        find::definition(),
        grep::definition(),
        ls::definition(),
        read::definition(),
        write::definition(),
    ]
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
    define_unlabelled(name, description, Value::Object(all), tool)
}

/// A strict definition whose properties are `properties` (a JSON object of schemas).
fn define_unlabelled(name: &str, description: &str, properties: Value, tool: impl NativeTool + 'static) -> Definition {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    });
    let mut definition = Definition::new(name, description, schema, Executor::Native(Arc::new(tool)));
    definition.strict = true;
    definition
}

/// Declares that a tool only looks: it runs unless somebody says otherwise.
fn harmless(mut definition: Definition) -> Definition {
    definition.approval = Some(DeclaredApproval::Auto);
    definition.idempotent = true;
    definition
}

/// A string in the input.
fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, String> {
    input.get(name).and_then(Value::as_str).ok_or_else(|| format!("`{name}` is missing: it must be a string."))
}

/// The file that a call names.
fn path(input: &Value) -> Result<&str, String> {
    match text(input, "path")? {
        "" => Err("`path` is empty: give the path of a file.".to_owned()),
        path if path.contains('\0') => {
            Err("`path` contains a NUL character, which a file name cannot contain.".to_owned())
        }
        path => Ok(path),
    }
}

/// A string in the input that may be null. Models write an empty one for what they leave out.
fn optional_text<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A switch in the input that may be null, which is off.
fn switch(input: &Value, name: &str) -> bool {
    input.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// How many of something are wanted, from 1 to `most`; `usual` if it is left out.
fn limit(input: &Value, usual: usize, most: usize) -> Result<usize, String> {
    match count(input, "limit")? {
        None => Ok(usual),
        Some(0) => Err("`limit` must be at least 1.".into()),
        Some(limit) if limit > most as u64 => Err(format!("`limit` must be at most {most}, not {limit}.")),
        Some(limit) => Ok(limit as usize),
    }
}

/// A whole number in the input that may be null; models write `5.0` for `5` now and then.
fn count(input: &Value, name: &str) -> Result<Option<u64>, String> {
    match input.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match (value.as_u64(), value.as_f64()) {
            (Some(number), _) => Ok(Some(number)),
            (None, Some(number)) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            _ => Err(format!("`{name}` must be a non-negative whole number, not {value}.")),
        },
    }
}

/// Runs what blocks on the disk on a thread that may. `Err` is the message of a failure.
///
/// The work looks at `context.cancel` itself where it can stop. What does not answer (a network share that is gone)
/// is given up after [`PATIENCE`] or the call's timeout, so that a conversation is never stuck on it.
async fn blocking(context: Context, work: impl FnOnce(&Context) -> Result<String, String> + Send + 'static) -> Outcome {
    looking(context, |context| work(context).map_or_else(Outcome::failure, Outcome::text)).await
}

/// Like [`blocking`], for work that has more to show than text.
async fn looking(context: Context, work: impl FnOnce(&Context) -> Outcome + Send + 'static) -> Outcome {
    give_up_on(context, Duration::ZERO, work).await
}

/// Like [`blocking`], for work that keeps an eye on the call's timeout itself ([`deadline::Deadline`]) and so has something
/// to show when it is over: it is given up [`PATIENCE`] later.
async fn searching(context: Context, work: impl FnOnce(&Context) -> Outcome + Send + 'static) -> Outcome {
    give_up_on(context, PATIENCE, work).await
}

async fn give_up_on(
    context: Context,
    grace: Duration,
    work: impl FnOnce(&Context) -> Outcome + Send + 'static,
) -> Outcome {
    let (cancel, timeout) = (context.cancel.clone(), context.timeout);
    // Where the system gives no thread at all, this panics.
    let begun = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(move || work(&context))));
    let Ok(mut task) = begun else {
        return Outcome::failure("The system could not start a thread, so the tool did not run. Try again later.");
    };
    let given_up = async {
        tokio::select! {
            () = tokio::time::sleep(timeout.saturating_add(grace)) => format!("within {}", seconds::in_words(timeout)),
            () = async { cancel.cancelled().await; tokio::time::sleep(PATIENCE).await } => "until it was cancelled".into(),
        }
    };
    tokio::select! {
        done = &mut task => match done {
            Ok(outcome) => outcome,
            Err(error) => Outcome::failure(format!("The tool failed: {error}. This is a bug in Flemma.")),
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
