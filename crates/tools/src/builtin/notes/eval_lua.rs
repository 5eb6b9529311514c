//! `eval_lua`: evaluates Lua over the notes.
//!
//! The program can read pages, under the same denials as every tool for notes, and compute. It can change nothing. Every call
//! waits for the user, whatever the options approve.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, SemaphorePermit},
};

use super::{
    super::{
        deadline::{Deadline, blocking},
        report,
    },
    space::Space,
};
use crate::{
    Context, LuaError, NativeTool, Outcome, Output, lua_sandbox::Evaluated, native::json_text, preview, seconds,
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
                code.and_then(|code| outcome(code, limit, context)).unwrap_or_else(Outcome::failure)
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
        () = context.cancel.cancelled() => bail!("Cancelled by the user."),
    }
}

/// Evaluates an expression for a tool that is written in Lua, with values of more names. It blocks.
///
/// # Errors
/// If it fails, takes too long, or its value is not JSON.
pub(super) fn evaluate(code: &str, names: &Map<String, Value>, context: &Context) -> Result<Value, ModelError> {
    let threads = Handle::try_current().map_err(|error| ModelError::new(format!("{error}.")))?;
    let slot = threads.block_on(slot(context))?;
    let evaluated = run(code, Some(names), USUAL_TIMEOUT, context);
    drop(slot);
    let values = evaluated?.values().map_err(in_words)?;
    Ok(values.into_iter().next().unwrap_or_default())
}

/// Runs a program. One that gets `names` is an expression for another program, which needs its value whole.
///
/// # Errors
/// If it cannot be run, or takes too long.
fn run(
    code: &str,
    names: Option<&Map<String, Value>>,
    limit: Duration,
    context: &Context,
) -> Result<Evaluated, ModelError> {
    let lua = context.lua.as_ref().ok_or_else(|| ModelError::new("there is no Lua here: it needs the editor."))?;
    ensure!(code.len() <= MAX_SOURCE, "the program is too long: it may have {MAX_SOURCE} bytes.");
    let deadline = Deadline::new(context).at_most(limit);
    let ask = |what: &str, page: &str| {
        let mut space = Space::open(context)?;
        space.deadline = deadline.clone();
        answer(&space, what, page)
    };
    let request = json!({ "source": code, "strict": names.is_some(), "names": names.unwrap_or(&Map::new()) });
    let evaluated = lua.evaluate(&request, &|| deadline.stopped().is_some(), &ask);
    evaluated.map_err(in_words)?.ok_or_else(|| match context.cancel.is_cancelled() {
        true => ModelError::new("Cancelled by the user."),
        false => ModelError::new(format!(
            "The program ran for more than {} and was stopped. Let it do less.",
            seconds::in_words(limit)
        )),
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
///
/// # Errors
/// If the program cannot be run, or takes too long.
fn outcome(code: &str, limit: Duration, context: &Context) -> Result<Outcome, ModelError> {
    let evaluated = run(code, None, limit, context)?;
    let values = evaluated.values();
    let Evaluated { printed, is_cut, is_printed_cut, .. } = evaluated;
    let where_cut = format!("cut in line {}, after {MAX_PRINTED} bytes", printed.lines().count());
    let mut values = match values {
        Ok(values) => values,
        Err(problem) => {
            let cut = if is_printed_cut { format!(", {where_cut}") } else { String::new() };
            let output = (!printed.is_empty()).then(|| format!("Printed before{cut}:\n\n{printed}"));
            return Ok(Outcome::Failure { error: in_words(problem), output });
        }
    };
    if printed.is_empty() && !is_cut && values.len() == 1 && (values[0].is_array() || values[0].is_object()) {
        return Ok(Outcome::Success(Output::Json(values.remove(0))));
    }
    let mut body = printed;
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
    let printed_cut = is_printed_cut.then(|| format!("What was printed is {where_cut}. Print less"));
    let result_cut = is_cut.then(|| "The result is too large and was cut. Return less".to_owned());
    let notes: Vec<String> = printed_cut.into_iter().chain(result_cut).collect();
    let finish = if notes.is_empty() { report::finish } else { report::finish_part };
    Ok(Outcome::text(finish("eval_lua", &body, notes, context)))
}

/// Why a program has failed, as a sentence.
fn in_words(problem: LuaError) -> ModelError {
    let problem = problem.to_string();
    let end = if problem.ends_with(['.', '?', '!']) { "" } else { "." };
    ModelError::new(format!("{problem}{end}"))
}
