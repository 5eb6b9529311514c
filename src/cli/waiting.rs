//! The open calls of conversations, as their texts and this user's journal have them.

use std::{io, path::Path};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    desk, names,
    report::{Failure, words},
    state,
};
use crate::{
    chat::{AwaitKind, Awaiting, Document, Status},
    journal::{Actor, Event, Ledger, Record},
    model::ToolInput,
    runtime::{Journal, Owner, holder},
    tools::Registry,
    workspace::{CallState, Outlook, outlooks},
};

/// What is needed to look at conversations: nothing is made, locked or changed.
pub(super) struct Look {
    journal: Journal,
    locks: std::path::PathBuf,
    tools: Registry,
    now: Timestamp,
}

/// An open call of a conversation.
#[derive(Clone, Debug)]
pub(super) struct Call {
    file: String,
    /// The file, for a person.
    name: String,
    /// The line of its block, or else of the call, from 1.
    line: usize,
    id: String,
    tool: String,
    input: ToolInput,
    pub(super) state: State,
    is_overdue: bool,
}

/// What becomes of it.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// See [`CallState`].
    Known(CallState),
    /// Another process has started it, and is at work on the conversation.
    Running { since: Timestamp, by: Option<Owner> },
}

impl Look {
    /// # Errors
    /// When it is not known where the journal is.
    pub(super) fn new() -> Result<Self, Failure> {
        let folder = state::folder()?;
        Ok(Self {
            journal: Journal::new(folder.join("journal")),
            locks: folder.join("locks"),
            tools: Registry::with_builtins(),
            now: Timestamp::now(),
        })
    }

    /// The open calls of a file.
    ///
    /// # Errors
    /// When it or its journal cannot be read.
    pub(super) fn at(&self, path: &Path) -> Result<Vec<Call>, Failure> {
        let (_, lines) = desk::read(path)?;
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
        let open = document.open_calls(&lines);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let absolute = state::absolute(path)?;
        let ledger = Ledger::replay(self.journal.look(&absolute).map_err(|error| unreadable(path, &error))?);
        let outlooks = outlooks(open, document, &lines, &ledger, &self.tools);
        let is_started = |outlook: &Outlook| matches!(outlook.state, CallState::Interrupted { .. });
        let holder = outlooks.iter().any(is_started).then(|| holder::look(&self.locks, &absolute)).flatten();
        let calls = outlooks.into_iter().map(|Outlook { call, state }| {
            let state = match (state, &holder) {
                (CallState::Interrupted { since, .. }, Some(by)) => State::Running { since, by: by.clone() },
                (state, _) => State::Known(state),
            };
            Call {
                file: path.to_string_lossy().into_owned(),
                name: names::path(path),
                line: call.placeholder.as_ref().map_or(call.line, |placeholder| placeholder.fence) + 1,
                is_overdue: state.awaiting().is_some_and(|awaiting| awaiting.is_over(self.now)),
                id: call.id.0,
                tool: call.name,
                input: call.input,
                state,
            }
        });
        Ok(calls.collect())
    }
}

/// The journal of a conversation cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let (name, words) = (names::path(path), words(error));
    Failure::Failed(format!("{name}: it is not known what waits, because its journal cannot be read: {words}"))
}

impl State {
    fn awaiting(&self) -> Option<&Awaiting> {
        match self {
            Self::Known(CallState::Waits { awaiting, .. } | CallState::Interrupted { awaiting, .. }) => Some(awaiting),
            _ => None,
        }
    }

    /// The word for programs.
    fn word(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Known(state) => match state {
                CallState::Waits { .. } => "waiting",
                CallState::Interrupted { .. } => "interrupted",
                CallState::Undecided => "undecided",
                CallState::Approved { .. } => "approved",
                CallState::Ended { .. } => "ended",
                CallState::Refused(_) => "refused",
            },
        }
    }

    /// What it waits for.
    fn kind(&self) -> Option<AwaitKind> {
        match self {
            Self::Known(CallState::Waits { kind, awaiting }) => Some(kind.unwrap_or(awaiting.kind)),
            Self::Known(CallState::Interrupted { runs_again: false, .. }) => Some(AwaitKind::Approval),
            _ => None,
        }
    }

    /// Who has decided that, and when.
    fn decided(&self) -> Option<(&Actor, Timestamp)> {
        match self {
            Self::Known(CallState::Approved { by, at } | CallState::Ended { by, at }) => Some((by, *at)),
            _ => None,
        }
    }

    /// What a person has to know of it.
    fn sentence(&self) -> String {
        match self {
            Self::Running { since, by } => {
                let by = by.as_ref().map_or_else(|| "another process".to_owned(), Owner::to_string);
                format!("running since {}, in {by}", time(*since))
            }
            Self::Known(CallState::Waits { kind: None, awaiting }) => format!("{} (as the file says)", awaiting.kind),
            Self::Known(CallState::Waits { kind: Some(kind), .. }) => kind.to_string(),
            Self::Known(CallState::Interrupted { since, runs_again: false, .. }) => format!(
                "approval, interrupted: it was started {}, and may have had an effect. Run it again?",
                time(*since)
            ),
            Self::Known(CallState::Interrupted { since, runs_again: true, .. }) => {
                format!("interrupted: it was started {}, and runs again when the conversation goes on", time(*since))
            }
            Self::Known(CallState::Undecided) => {
                "undecided: your policies decide when the conversation goes on".to_owned()
            }
            Self::Known(CallState::Approved { by, at }) => {
                format!("approved by {}, {}: it runs when the conversation goes on", actor(by), time(*at))
            }
            Self::Known(CallState::Ended { by, at }) => {
                let (by, at) = (actor(by), time(*at));
                format!("resolved by {by}, {at}: the file gets the result when the conversation is opened")
            }
            Self::Known(CallState::Refused(status)) => {
                let word = if *status == Status::Denied { "denied" } else { "rejected" };
                format!("{word}, as the file says: it gets an error result when the conversation goes on")
            }
        }
    }
}

impl Call {
    /// Whether somebody has to do something for it.
    pub(super) fn is_waiting(&self) -> bool {
        self.state.kind().is_some() || matches!(self.state, State::Known(CallState::Undecided))
    }

    /// What it waits for.
    pub(super) fn kind(&self) -> Option<&'static str> {
        self.state.kind().map(AwaitKind::as_str)
    }

    /// Whether its deadline has passed.
    pub(super) fn is_overdue(&self) -> bool {
        self.is_overdue
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let awaiting = self.state.awaiting();
        let decided = self.state.decided();
        let since = match &self.state {
            State::Running { since, .. } | State::Known(CallState::Interrupted { since, .. }) => Some(*since),
            State::Known(_) => None,
        };
        json!({
            "file": self.file,
            "line": self.line,
            "call": self.id,
            "tool": self.tool,
            "kind": self.kind(),
            "known": !matches!(self.state, State::Known(CallState::Waits { kind: None, .. })),
            "state": self.state.word(),
            "started": since.map(|since| since.to_string()),
            "by": decided.map(|(by, _)| json!({ "role": by.role.as_str(), "pid": by.process, "host": by.host })),
            "at": decided.map(|(_, at)| at.to_string()),
            "expires": awaiting.and_then(|awaiting| awaiting.expires).map(|expires| expires.to_string()),
            "overdue": self.is_overdue,
            "question": awaiting.and_then(|awaiting| awaiting.question.as_deref()),
            "input": match &self.input {
                ToolInput::Json(value) => value.clone(),
                ToolInput::Malformed(_) => Value::Null,
            },
        })
    }

    /// For people: one line. What comes from the file cannot control the terminal.
    pub(super) fn to_line(&self) -> String {
        let (id, tool) = (names::word(&self.id), names::word(&self.tool));
        let mut line = format!("{}:{}: {id} {tool} {}", self.name, self.line, self.state.sentence());
        let Some(awaiting) = self.state.awaiting() else { return line };
        if let Some(expires) = awaiting.expires {
            let word = if self.is_overdue { "expired" } else { "expires" };
            line += &format!(", {word} {expires}");
        }
        let question =
            awaiting.question.as_ref().filter(|_| matches!(self.state, State::Known(CallState::Waits { .. })));
        if let Some(question) = question {
            line += &format!(": {}", names::plain(question));
        }
        line
    }

    /// The input, indented. JSON escapes what could control a terminal.
    pub(super) fn input(&self) -> String {
        let text = match &self.input {
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
