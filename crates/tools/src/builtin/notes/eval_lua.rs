//! `eval_lua`: evaluates Lua over the notes.
//!
//! The program can read pages, under the same denials as every tool for notes, and compute. It can change nothing. Every call
//! waits for the user, whatever the options approve.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, SemaphorePermit},
};

use super::{
    super::{blocking::blocking, deadline::Deadline, report},
    space::Space,
};
use crate::{
    Context, LuaFault, LuaProgram, LuaResults, NativeTool, Outcome, Output, Printed, native::json_text, preview,
    seconds,
};
use flemma_model::ModelError;
use flemma_notes::PageName;

/// How long a program may run for a tool that is written in Lua. The definition has the same.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// How much longer a program may take to end once it is told to: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(4);

/// The longest program, in bytes.
const MAX_SOURCE: usize = 100_000;

/// How much of what a program prints is kept, in bytes, as `evaluation.lua` has it.
const MAX_PRINTED: usize = 100_000;

/// How many programs run at once. Each may use a lot of memory.
static SLOTS: Semaphore = Semaphore::const_new(4);

/// The tool.
pub(super) struct EvalLua;

impl NativeTool for EvalLua {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        async move {
            let slot = match slot(&context).await {
                Ok(slot) => slot,
                Err(cancelled) => return Outcome::failure(cancelled),
            };
            let limit = context.timeout;
            let mut patient = context;
            patient.timeout = limit.saturating_add(PATIENCE);
            let outcome = blocking(patient, move |context| {
                let code = super::super::text(&input, "code");
                code.map_or_else(Outcome::failure, |code| outcome(code, limit, context))
            });
            let outcome = outcome.await;
            drop(slot);
            outcome
        }
        .boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        Some(preview::labelled(input.get("code")?.as_str()?.to_owned(), input))
    }

    fn program(&self, input: &Value) -> Option<String> {
        input.get("code")?.as_str().map(str::to_owned)
    }
}

/// Waits until one more program may run.
///
/// # Errors
/// If the call is cancelled first.
async fn slot(context: &Context) -> Result<SemaphorePermit<'static>, ModelError> {
    tokio::select! {
        slot = SLOTS.acquire() => slot.map_err(|error| ModelError::new(format!("{error}."))),
        () = context.cancel.cancelled() => Err(ModelError::new("Cancelled by the user.")),
    }
}

/// Evaluates an expression for a tool that is written in Lua, with values of more names. It blocks.
///
/// # Errors
/// If it fails, takes too long, or its value is not JSON.
pub(super) fn evaluate(code: &str, names: &Map<String, Value>, context: &Context) -> Result<Value, ModelError> {
    let threads = Handle::try_current().map_err(|error| ModelError::new(format!("{error}.")))?;
    let slot = threads.block_on(slot(context))?;
    let results = run(code, Some(names), USUAL_TIMEOUT, context);
    drop(slot);
    match results {
        Ok(LuaResults { values, .. }) => Ok(values.into_iter().next().unwrap_or_default()),
        Err(fault) => Err(problem(&fault, USUAL_TIMEOUT, context)),
    }
}

/// Runs a program. One that gets `names` is an expression for another program, which needs its value whole.
fn run(
    code: &str,
    names: Option<&Map<String, Value>>,
    limit: Duration,
    context: &Context,
) -> Result<LuaResults, LuaFault> {
    let failed = |message: String| LuaFault::Failed { message, printed: Printed::default() };
    let Some(lua) = &context.lua else { return Err(failed("there is no Lua here: it needs the editor".into())) };
    if code.len() > MAX_SOURCE {
        return Err(failed(format!("the program is too long: it may have {MAX_SOURCE} bytes")));
    }
    let deadline = Deadline::new(context).at_most(limit);
    let ask = |what: &str, page: &str| {
        let mut space = Space::open(context)?;
        space.deadline = deadline.clone();
        answer(&space, what, page)
    };
    lua.evaluate(&LuaProgram {
        source: code,
        strict: names.is_some(),
        names: names.unwrap_or(&Map::new()),
        ask: &ask,
        is_over: &|| deadline.stopped().is_some(),
    })
}

/// Answers a function of `space`.
fn answer(space: &Space<'_>, what: &str, page: &str) -> Result<Value, ModelError> {
    if what == "listPages" {
        return space.metas();
    }
    let page = PageName::parse(page)?;
    match what {
        "readPage" => {
            let content = space.read(&page)?;
            space.note_read(&page, Some(&content));
            Ok(String::from_utf8_lossy(&content).into())
        }
        "pageExists" => Ok(space.file(&page)?.is_file().into()),
        _ => space.meta(&page),
    }
}

/// The outcome of a call.
fn outcome(code: &str, limit: Duration, context: &Context) -> Outcome {
    let LuaResults { mut values, printed, is_cut } = match run(code, None, limit, context) {
        Ok(results) => results,
        Err(fault) => {
            let output = match &fault {
                LuaFault::Failed { printed: Printed { text, is_cut }, .. } if !text.is_empty() => {
                    let cut = if *is_cut { format!(", {}", where_cut(text)) } else { String::new() };
                    Some(format!("Printed before{cut}:\n\n{text}"))
                }
                _ => None,
            };
            return Outcome::Failure { error: problem(&fault, limit, context), output };
        }
    };
    if printed.text.is_empty() && !is_cut && values.len() == 1 && (values[0].is_array() || values[0].is_object()) {
        return Outcome::Success(Output::Json(values.remove(0)));
    }
    let printed_cut = printed.is_cut.then(|| format!("What was printed is {}. Print less", where_cut(&printed.text)));
    let mut body = printed.text;
    let plural = values.len() > 1;
    for (at, value) in values.iter().enumerate() {
        if !body.is_empty() && !body.ends_with('\n') {
            body.push('\n');
        }
        if plural {
            body.push_str(&format!("{}: ", at + 1));
        }
        match value {
            Value::String(text) => body.push_str(text),
            Value::Null => body.push_str("nil"),
            other => body.push_str(&json_text(other)),
        }
    }
    if body.is_empty() && values.is_empty() {
        body.push_str("(no value)");
    }
    let result_cut = is_cut.then(|| "The result is too large and was cut. Return less".to_owned());
    let notes: Vec<String> = printed_cut.into_iter().chain(result_cut).collect();
    let finish = if notes.is_empty() { report::finish } else { report::finish_part };
    Outcome::text(finish("eval_lua", &body, notes, context))
}

/// Where what a program printed is cut: the end of a sentence.
fn where_cut(printed: &str) -> String {
    format!("cut in line {}, after {MAX_PRINTED} bytes", printed.lines().count())
}

fn problem(fault: &LuaFault, limit: Duration, context: &Context) -> ModelError {
    match fault {
        LuaFault::Stopped if context.cancel.is_cancelled() => ModelError::new("Cancelled by the user."),
        LuaFault::Stopped => ModelError::new(format!(
            "The program ran for more than {} and was stopped. Let it do less.",
            seconds::in_words(limit)
        )),
        fault => {
            let words = fault.to_string();
            let end = if words.ends_with(['.', '?', '!']) { "" } else { "." };
            ModelError::new(format!("{words}{end}"))
        }
    }
}
