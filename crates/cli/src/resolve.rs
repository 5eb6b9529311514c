//! `flemma resolve`: a decision about a call, or its answer.

use std::{
    io::{self, Read},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    arguments::{Resolve, Run},
    desk::{Desk, Lock, Opened},
    editor, names,
    report::{Exit, Failure, Report, is_far, words},
    run,
    state::{self, Configuration},
};
use flemma_journal::Role;
use flemma_model::CallId;
use flemma_workspace::Resolution;

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
    // A mistake in it is said before anything is done.
    let is_continued = arguments.is_continued || Configuration::read()?.is_continued;
    let deadline = Instant::now() + PATIENCE;
    let mut lock = Lock::Ask;
    loop {
        let owner = match Desk::open(&arguments.path, lock)? {
            Opened::Here(desk) => {
                let place = if is_continued { Place::Run } else { Place::Here };
                let resolved = resolve_here(*desk, arguments, resolution, place)?;
                return Ok(if is_continued { go_on(arguments, resolved) } else { resolved });
            }
            Opened::Elsewhere(owner) => owner,
        };
        let is_far = owner.as_ref().is_some_and(is_far);
        if arguments.takeover.steal && (is_far || !editor::has_answering(&arguments.path)?) {
            // Another `flemma` has no server, and ends soon.
            lock = if is_far || Instant::now() >= deadline || editor::server(&arguments.path)?.is_some() {
                Lock::Steal
            } else {
                thread::sleep(PAUSE);
                Lock::Ask
            };
            continue;
        }
        if is_far {
            return Err(Failure::Held { file: names::path(&arguments.path), owner });
        }
        match hand_over(arguments, &resolution)? {
            Some(report) => return Ok(report),
            // Another `flemma`, or an editor that is just opening or closing it.
            None if Instant::now() < deadline => thread::sleep(PAUSE),
            None => return Err(Failure::Held { file: names::path(&arguments.path), owner }),
        }
    }
}

fn resolve_here(desk: Desk, arguments: &Resolve, resolution: Resolution, place: Place) -> Result<Report, Failure> {
    let call = CallId(arguments.call.clone());
    let resolved = desk.resolve(&call, resolution, Role::CommandLine);
    let (told, written) = desk.close();
    resolved?.map_err(|problem| refused(arguments, &problem.explained()))?;
    // It is recorded, so it is done. The next one who opens the file puts it there.
    let unwritten = written.err().map(|failure| {
        format!("the decision is recorded, but {failure} The file gets it when the conversation is opened next.")
    });
    let mut report = done(arguments, place, unwritten.is_none());
    report.warnings = told.into_iter().chain(unwritten).collect();
    Ok(report)
}

/// Carries the conversation on. What is resolved stays so, whatever comes of it.
fn go_on(arguments: &Resolve, resolved: Report) -> Report {
    let run = Run { path: arguments.path.clone(), takeover: arguments.takeover, ..Run::default() };
    let mut json = resolved.json;
    let mut report = run::run(&run);
    json["ok"] = (report.exit == Exit::Done).into();
    json["run"] = report.json.take();
    let text = [resolved.text, report.text].into_iter().filter(|text| !text.is_empty());
    let warnings = resolved.warnings.into_iter().chain(report.warnings).collect();
    Report { text: text.collect::<Vec<_>>().join("\n"), json, warnings, exit: report.exit }
}

/// Resolves it in the editor that holds the conversation. `None` if there is none, or it no longer does.
fn hand_over(arguments: &Resolve, resolution: &Resolution) -> Result<Option<Report>, Failure> {
    let Some(mut editor) = editor::of(&arguments.path)? else { return Ok(None) };
    let (kind, text) = match resolution {
        Resolution::Approve => ("approve", String::new()),
        Resolution::ApproveAgain => ("again", String::new()),
        Resolution::Reject(words) => ("reject", words.clone().unwrap_or_default()),
        Resolution::Answer(value) => ("answer", value.to_string()),
        Resolution::Fail(words) => ("error", words.clone()),
        Resolution::ApproveAs(_) | Resolution::Impossible(_) | Resolution::Result(_) | Resolution::Expire => {
            return Ok(None);
        }
    };
    let path = state::absolute(&arguments.path)?;
    let outcome = editor.lua(HAND_OVER, &[&path.to_string_lossy(), &arguments.call, kind, &text]);
    match outcome.as_deref() {
        Ok("done") => Ok(Some(done(arguments, Place::Editor, true))),
        Ok("closed") => Ok(None),
        Ok(problem) => Err(refused(arguments, problem)),
        // It exits. If it has recorded the decision before, the call is stale for the next attempt.
        Err(error) if has_gone(error) => Ok(None),
        Err(error) => Err(Failure::Failed(format!(
            "{}: the editor that has it open does not answer ({}); it may show a prompt. Look there whether the call is \
             resolved",
            names::path(&arguments.path),
            no_answer(error)
        ))),
    }
}

/// What is run in the editor.
const HAND_OVER: &str = "return require('flemma.command_line').resolve(...)";

/// Where a call was resolved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// By this process, for whoever opens the conversation next.
    Here,
    /// By this process, which carries it on.
    Run,
    /// By the editor that has it open.
    Editor,
}

fn done(arguments: &Resolve, place: Place, is_written: bool) -> Report {
    let (file, call) = (names::path(&arguments.path), names::word(&arguments.call));
    let text = format!("{file}: {call} {}", outcome(arguments, place));
    let true_name = arguments.path.to_string_lossy();
    Report::done(text, json!({ "ok": true, "file": true_name, "call": arguments.call, "written": is_written }))
}

/// What has become of the call.
fn outcome(arguments: &Resolve, place: Place) -> String {
    let (what, next) = match arguments {
        Resolve { approve: true, .. } | Resolve { again: true, .. } => {
            ("is approved", "it runs when the conversation is opened next")
        }
        Resolve { reject: Some(_), .. } => {
            ("is rejected", "the model is told when the conversation is opened next and no call waits")
        }
        Resolve { error: Some(_), .. } => {
            ("has an error result", "it is sent when the conversation is opened next and no call waits")
        }
        _ => ("has its result", "it is sent when the conversation is opened next and no call waits"),
    };
    match place {
        Place::Run => what.to_owned(),
        Place::Here => format!("{what}; {next}"),
        Place::Editor => format!("{what}, in the editor that has the conversation open"),
    }
}

/// Whether an editor has ended the connection.
fn has_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | BrokenPipe | ConnectionReset)
}

/// Why an editor did not answer.
fn no_answer(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it was waited for ten seconds".to_owned(),
        _ => words(error),
    }
}

fn refused(arguments: &Resolve, problem: &str) -> Failure {
    let (file, call) = (names::path(&arguments.path), names::word(&arguments.call));
    Failure::Failed(format!("{file}: {call}: {problem}"))
}

fn resolution(arguments: &Resolve) -> Result<Resolution, Failure> {
    Ok(match arguments {
        Resolve { approve: true, .. } => Resolution::Approve,
        Resolve { again: true, .. } => Resolution::ApproveAgain,
        Resolve { reject: Some(words), .. } => {
            Resolution::Reject(Some(words.clone()).filter(|words| !words.is_empty()))
        }
        Resolve { error: Some(words), .. } => Resolution::Fail(words.clone()),
        Resolve { result: Some(json), .. } => Resolution::Answer(value(json)?),
        _ => return Err(Failure::Usage("give one of --approve, --again, --reject, --result and --error".into())),
    })
}

fn value(json: &str) -> Result<Value, Failure> {
    let mut text = json.to_owned();
    if json == "-" {
        text.clear();
        let read = io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text);
        read.map_err(|error| {
            Failure::Failed(format!("the result cannot be read from standard input: {}", words(&error)))
        })?;
        if text.len() as u64 > LONGEST {
            return Err(Failure::Usage(format!("the result has more than {} MB", LONGEST >> 20)));
        }
    }
    serde_json::from_str(&text).map_err(|error| {
        let problem = error.to_string();
        Failure::Usage(if problem.starts_with("recursion limit") {
            "--result is nested too deeply: lists and objects may be 127 levels deep".to_owned()
        } else {
            format!("--result is not JSON ({problem}); a text needs quotes, as in --result '\"yes\"'")
        })
    })
}
