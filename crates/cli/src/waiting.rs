//! The open calls of conversations, as their texts and this user's journal have them; `flemma pending`: those that wait.

use std::{io, path::Path};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    arguments::Place,
    files::{self, Found},
    names,
    report::{Failure, Report, who, words},
    state,
};
use flemma_chat::{AwaitKind, Document, Status};
use flemma_journal::{Actor, Event, Record};
use flemma_model::ToolInput;
use flemma_runtime::Journal;
use flemma_workspace::{CallOnDisk, CallState, CallsOnDisk};

/// Lists the calls that wait in a conversation, or in all of a folder.
///
/// # Errors
/// When there is no such file or folder. A file that cannot be read is named, and does not keep the others from being listed.
pub(super) fn pending(place: &Place) -> Result<Report, Failure> {
    let look = Look::new()?;
    let mut calls = Vec::new();
    let errors = Found::at(&place.path)?.each(|file| {
        calls.extend(look.at(file)?.into_iter().filter(|call| call.found.is_waiting()));
        Ok(())
    });
    let lines: Vec<String> = calls.iter().map(Call::to_line).collect();
    let json = json!({
        "ok": errors.is_empty(),
        "pending": calls.iter().map(Call::to_json).collect::<Vec<_>>(),
        "errors": errors,
    });
    Ok(Report::with_errors(lines.join("\n"), json, errors))
}

/// What is needed to look at conversations: nothing is made, locked or changed.
pub(super) struct Look {
    journal: Journal,
    disk: CallsOnDisk,
    now: Timestamp,
}

/// An open call of a conversation.
#[derive(Clone, Debug)]
pub(super) struct Call {
    file: String,
    /// The file, for a person.
    name: String,
    pub(super) found: CallOnDisk,
}

impl Look {
    /// # Errors
    /// When it is not known where the journal is.
    pub(super) fn new() -> Result<Self, Failure> {
        let folder = state::folder()?;
        let (journal, now) = (Journal::new(folder.join("journal")), Timestamp::now());
        Ok(Self { disk: CallsOnDisk::new(journal.clone(), state::locks()?, now), journal, now })
    }

    /// The open calls of a file.
    ///
    /// # Errors
    /// When it or its journal cannot be read.
    pub(super) fn at(&self, path: &Path) -> Result<Vec<Call>, Failure> {
        let (_, lines) = files::read(path)?;
        self.of(path, &Document::parse(&lines), &lines)
    }

    /// The calls of a file that this process has let expire, as the journal has it.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) fn expired_here(&self, path: &Path) -> Result<Vec<String>, Failure> {
        let records = self.journal.look(&state::absolute(path)?).map_err(|error| unreadable(path, &error))?;
        let is_ours = |record: &Record| {
            let is_expired = matches!(record.event, Event::Expired(_));
            is_expired && record.by.process == std::process::id() && record.at >= self.now
        };
        Ok(records.into_iter().filter(is_ours).map(|record| record.key.id.0).collect())
    }

    /// The open calls of a text, which is that of the file.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) fn of(&self, path: &Path, document: &Document, lines: &[String]) -> Result<Vec<Call>, Failure> {
        let absolute = state::absolute(path)?;
        let found = self.disk.calls(&absolute, document, &lines).map_err(|error| unreadable(path, &error))?;
        let (file, name) = (path.to_string_lossy(), names::path(path));
        let call = |found| Call { file: file.clone().into_owned(), name: name.clone(), found };
        Ok(found.into_iter().map(call).collect())
    }
}

/// The journal of a conversation cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let (name, words) = (names::path(path), words(error));
    Failure::Failed(format!("{name}: it is not known what waits, because its journal cannot be read: {words}"))
}

/// The word for programs; since when it runs; who has decided, and when.
fn parts(state: &CallState) -> (&'static str, Option<Timestamp>, Option<(&Actor, Timestamp)>) {
    match state {
        CallState::Running { since, .. } => ("running", Some(*since), None),
        CallState::Waits { .. } => ("waiting", None, None),
        CallState::Interrupted { since, .. } => ("interrupted", Some(*since), None),
        CallState::Undecided => ("undecided", None, None),
        CallState::Approved { by, at } => ("approved", None, Some((by, *at))),
        CallState::Ended { by, at } => ("ended", None, Some((by, *at))),
        CallState::Refused(_) => ("refused", None, None),
    }
}

/// What a person has to know of it.
fn sentence(state: &CallState) -> String {
    match state {
        CallState::Running { since, by } => {
            format!("running since {}, in {}", time(*since), who(by.as_ref()))
        }
        CallState::Waits { kind: None, awaiting } => {
            format!("{} (as the file says)", awaiting.kind)
        }
        CallState::Waits { kind: Some(kind), .. } => kind.to_string(),
        CallState::Interrupted { since, runs_again: false, .. } => {
            format!("approval, interrupted: it was started {}, and may have had an effect. Run it again?", time(*since))
        }
        CallState::Interrupted { since, runs_again: true, .. } => {
            format!("interrupted: it was started {}, and runs again when the conversation goes on", time(*since))
        }
        CallState::Undecided => "undecided: your policies decide when the conversation goes on".to_owned(),
        CallState::Approved { by, at } => {
            format!("approved by {}, {}: it runs when the conversation goes on", actor(by), time(*at))
        }
        CallState::Ended { by, at } => {
            let (by, at) = (actor(by), time(*at));
            format!("resolved by {by}, {at}: the file gets the result when the conversation is opened")
        }
        CallState::Refused(status) => {
            let word = if *status == Status::Denied { "denied" } else { "rejected" };
            format!("{word}, as the file says: it gets an error result when the conversation goes on")
        }
    }
}

impl Call {
    /// What it waits for.
    pub(super) fn kind(&self) -> Option<&'static str> {
        self.found.state.kind().map(AwaitKind::as_str)
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let awaiting = self.found.state.awaiting();
        let (state, since, decided) = parts(&self.found.state);
        json!({
            "file": self.file,
            "line": self.found.line + 1,
            "call": self.found.id.0,
            "tool": self.found.tool,
            "kind": self.kind(),
            "known": !matches!(self.found.state, CallState::Waits { kind: None, .. }),
            "state": state,
            "started": since.map(|since| since.to_string()),
            "by": decided.map(|(by, _)| json!({ "role": by.role.as_str(), "pid": by.process, "host": by.host })),
            "at": decided.map(|(_, at)| at.to_string()),
            "expires": awaiting.and_then(|awaiting| awaiting.expires).map(|expires| expires.to_string()),
            "overdue": self.found.is_overdue,
            "question": awaiting.is_some().then_some(&self.found.question),
            "input": match &*self.found.input {
                ToolInput::Json(value) => value.clone(),
                ToolInput::Malformed(_) => Value::Null,
            },
        })
    }

    /// For people: one line. What comes from the file cannot control the terminal.
    pub(super) fn to_line(&self) -> String {
        let (id, tool) = (names::word(&self.found.id.0), names::word(&self.found.tool));
        let mut line = format!("{}:{}: {id} {tool} {}", self.name, self.found.line + 1, sentence(&self.found.state));
        let Some(awaiting) = self.found.state.awaiting() else { return line };
        if let Some(expires) = awaiting.expires {
            let word = if self.found.is_overdue { "expired" } else { "expires" };
            line += &format!(", {word} {expires}");
        }
        // An interrupted call has its own words before this.
        if !self.found.question.is_empty() {
            line += &format!(": {}", names::message(&self.found.question));
        }
        line
    }

    /// The input, indented. JSON escapes what could control a terminal.
    pub(super) fn input(&self) -> String {
        let text = match &*self.found.input {
            ToolInput::Json(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
            ToolInput::Malformed(text) => text.clone(),
        };
        text.lines().map(|line| format!("  {}", names::message(line))).collect::<Vec<_>>().join("\n")
    }
}

/// Who has done something, for a person.
pub(super) fn actor(by: &Actor) -> String {
    format!("{} ({})", by.role.name(), names::word(&by.host))
}

/// A moment, to the second.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
