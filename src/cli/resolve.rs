//! `flemma resolve`: a decision about a call, or its answer.

use std::{
    io::{self, Read},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    arguments::Resolve,
    desk::{Desk, Opened},
    editor::Editor,
    report::{Failure, Report},
    state,
    waiting::plain,
};
use crate::{
    model::CallId,
    runtime::{Owner, holder},
    workspace::Resolution,
};

/// How long another `flemma`, or an editor that is closing, may hold the conversation.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The longest result that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Resolves a call: here, or in the editor that has the conversation open.
///
/// # Errors
/// Why it was not resolved.
pub(super) fn resolve(arguments: &Resolve) -> Result<Report, Failure> {
    let resolution = resolution(arguments)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let owner = match Desk::open(&arguments.path)? {
            Opened::Here(desk) => return resolve_here(*desk, arguments, resolution),
            Opened::Elsewhere(owner) => owner,
        };
        if owner.as_ref().is_some_and(|owner| owner.host != Owner::this().host) {
            return Err(Failure::Held { file: arguments.path.display().to_string(), owner });
        }
        match hand_over(arguments, &resolution)? {
            Some(report) => return Ok(report),
            // Another `flemma`, or an editor that is just opening or closing it.
            None if Instant::now() < deadline => thread::sleep(PAUSE),
            None => return Err(Failure::Held { file: arguments.path.display().to_string(), owner }),
        }
    }
}

fn resolve_here(desk: Desk, arguments: &Resolve, resolution: Resolution) -> Result<Report, Failure> {
    let call = CallId(arguments.call.clone());
    let resolved = desk.resolve(&call, resolution);
    let (told, written) = desk.close();
    resolved?.map_err(|problem| refused(arguments, &problem.to_string()))?;
    // It is recorded, so it is done. The next one who opens the file puts it there.
    let unwritten = written.err().map(|failure| {
        format!("the call is resolved, but {failure} The file gets it when the conversation is opened next.")
    });
    let mut report = done(arguments, unwritten.is_none());
    report.warnings = told.into_iter().chain(unwritten).collect();
    Ok(report)
}

/// Resolves it in the editor that holds the conversation. `None` if there is none, or it no longer does.
fn hand_over(arguments: &Resolve, resolution: &Resolution) -> Result<Option<Report>, Failure> {
    let path = state::absolute(&arguments.path)?;
    let Some(server) = holder::server(&state::folder()?.join("locks"), &path) else { return Ok(None) };
    let Ok(mut editor) = Editor::connect(&server) else { return Ok(None) };
    let (kind, text) = match resolution {
        Resolution::Approve => ("approve", String::new()),
        Resolution::Reject(words) => ("reject", words.clone().unwrap_or_default()),
        Resolution::Answer(value) => ("answer", value.to_string()),
        Resolution::Fail(words) => ("error", words.clone()),
        Resolution::Result(_) | Resolution::Expire => return Ok(None),
    };
    let path = path.to_string_lossy();
    let outcome = editor.lua(HAND_OVER, &[&path, &arguments.call, kind, &text]);
    match outcome.as_deref() {
        Ok("done") => Ok(Some(done(arguments, true))),
        Ok("closed") => Ok(None),
        Ok(problem) => Err(refused(arguments, problem)),
        Err(error) => Err(Failure::Failed(format!(
            "{}: the editor that has it open does not answer ({error}); it may show a prompt. Look there whether the call \
             is resolved",
            arguments.path.display()
        ))),
    }
}

/// What is run in the editor.
const HAND_OVER: &str = "return require('flemma.command_line').resolve(...)";

fn done(arguments: &Resolve, is_written: bool) -> Report {
    let (file, call) = (arguments.path.display().to_string(), &arguments.call);
    let json = json!({ "ok": true, "file": file, "call": call, "written": is_written });
    Report::done(plain(&format!("{file}: {call} is resolved")), json)
}

fn refused(arguments: &Resolve, problem: &str) -> Failure {
    let why = if problem == "stale" {
        "stale: no such call waits for this. It was resolved before, its deadline has passed, or it waits for something else"
    } else {
        problem
    };
    Failure::Failed(format!("{}: {}: {why}", arguments.path.display(), plain(&arguments.call)))
}

fn resolution(arguments: &Resolve) -> Result<Resolution, Failure> {
    Ok(match arguments {
        Resolve { approve: true, .. } => Resolution::Approve,
        Resolve { reject: Some(words), .. } => {
            Resolution::Reject(Some(words.clone()).filter(|words| !words.is_empty()))
        }
        Resolve { error: Some(words), .. } => Resolution::Fail(words.clone()),
        Resolve { result: Some(json), .. } => Resolution::Answer(value(json)?),
        _ => return Err(Failure::Usage("give one of --approve, --reject, --result and --error".into())),
    })
}

fn value(json: &str) -> Result<Value, Failure> {
    let mut text = json.to_owned();
    if json == "-" {
        text.clear();
        let read = io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text);
        read.map_err(|error| Failure::Failed(format!("the result cannot be read from standard input: {error}")))?;
        if text.len() as u64 > LONGEST {
            return Err(Failure::Usage(format!("the result has more than {} MB", LONGEST >> 20)));
        }
    }
    serde_json::from_str(&text).map_err(|error| {
        Failure::Usage(format!("--result is not JSON ({error}); a text needs quotes, as in --result '\"yes\"'"))
    })
}
