//! The format of the journal: one JSON object per line.
//!
//! ```json
//! {"v":1,"at":"2026-01-02T03:04:05Z","chat":"/notes.chat","call":"toolu_01","tool":"bash","input":"9f86…",
//!  "event":"approved","role":"user","pid":4711,"host":"laptop"}
//! ```
//!
//! A result adds `output`, and where they are needed `error`, `language` and `files`; a question adds `kind`, and where there
//! is one, `schema`; what the user was shown adds `shown`, and what a running call wants to write `proposed`. Fields that are not known are
//! ignored. A new event needs a new version, and so does a change that gives a known field another meaning. A line has the
//! version in which its event was new: an older Flemma reads the lines that it knows, and says of the others that they are newer.
//!
//! A prefix of a line, and two lines without a line break between them, are not valid JSON, so that a line that was not
//! written whole is no record.
//!
//! Nobody relies on a record before its line is on the disk. So a line that was cut off ([`LineError::Torn`]) says nothing.
//! Any other line that cannot be read may be one that somebody relied on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Actor, Asked, Binding, CallKey, Decision, Event, Proposed, Record, RecordedFile, RecordedResult, Role};
use flemma_model::{CallId, Digest};

/// The version of the format.
const VERSION: u64 = 2;

/// Why a line is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// It was cut off while it was written: by a kill, or by a loss of power, which can leave zeros.
    #[error("was not written completely")]
    Torn,
    /// A newer version of Flemma wrote it.
    #[error("was written by a newer version of Flemma; update Flemma")]
    Newer,
    /// It was damaged, or Flemma did not write it.
    #[error("is damaged; if you can do without what it says about a call, delete that line")]
    Broken,
}

impl Record {
    /// The line of this record, without the line break.
    #[must_use]
    pub fn to_line(&self) -> String {
        let Self { at, conversation, key, event, by } = self;
        let mut line = Line {
            v: first_version(event),
            at: at.to_string(),
            chat: conversation.clone(),
            call: key.id.0.clone(),
            tool: key.tool.clone(),
            input: key.input.as_str().to_owned(),
            event: event_name(event).to_owned(),
            role: by.role.as_str().to_owned(),
            pid: by.process,
            host: by.host.clone(),
            ..Line::default()
        };
        match event.clone() {
            Event::Resolved(result) | Event::Expired(result) => {
                let RecordedResult { output, is_error, language, attachments } = result;
                (line.output, line.error, line.language, line.files) = (Some(output), is_error, language, attachments);
            }
            Event::Asked(Asked { kind, schema }) => (line.kind, line.schema) = (Some(kind), schema),
            Event::Bound(binding) | Event::Made(binding) => line.shown = Some(binding),
            Event::Proposed(proposed) => line.proposed = Some(proposed),
            Event::Opened | Event::Decided(_) | Event::Started | Event::WentOn | Event::Withdrawn => {}
        }
        // Its parts are texts, numbers and what was read from JSON.
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Reads a line, with or without its line break.
    ///
    /// # Errors
    /// When it is not a record of this or an older version.
    pub fn from_line(line: &[u8]) -> Result<Self, LineError> {
        match serde_json::from_slice::<Line>(line) {
            Ok(line) if (1..=VERSION).contains(&line.v) => line.record().ok_or(LineError::Broken),
            read => match serde_json::from_slice(line) {
                Ok(Version { v }) if v > VERSION => Err(LineError::Newer),
                _ if line.contains(&0) || read.is_err_and(|error| error.is_eof()) => Err(LineError::Torn),
                _ => Err(LineError::Broken),
            },
        }
    }
}

/// What lines of all versions have.
#[derive(Deserialize)]
struct Version {
    v: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Line {
    v: u64,
    at: String,
    chat: String,
    call: String,
    tool: String,
    input: String,
    event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    error: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    language: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<RecordedFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<Binding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed: Option<Proposed>,
    role: String,
    pid: u32,
    host: String,
}

impl Line {
    fn record(self) -> Option<Record> {
        let at: Timestamp = self.at.parse().ok()?;
        let key = CallKey { id: CallId(self.call), tool: self.tool, input: Digest::parse(&self.input)? };
        let by = Actor { role: Role::parse(&self.role)?, process: self.pid, host: self.host };
        let (is_error, language, attachments) = (self.error, self.language, self.files);
        let result = self.output.map(|output| RecordedResult { output, is_error, language, attachments });
        let asked = self.kind.map(|kind| Asked { kind, schema: self.schema });
        let event = match (self.event.as_str(), result) {
            ("opened", None) => Event::Opened,
            ("asked", None) => Event::Asked(asked?),
            ("bound", None) => Event::Bound(self.shown?),
            ("made", None) => Event::Made(self.shown?),
            ("approved", None) => Event::Decided(Decision::Approved),
            ("rejected", None) => Event::Decided(Decision::Rejected),
            ("started", None) => Event::Started,
            ("proposed", None) => Event::Proposed(self.proposed?),
            ("went-on", None) => Event::WentOn,
            ("withdrawn", None) => Event::Withdrawn,
            ("resolved", Some(result)) => Event::Resolved(result),
            ("expired", Some(result)) => Event::Expired(result),
            _ => return None,
        };
        Some(Record { at, conversation: self.chat, key, event, by })
    }
}

fn event_name(event: &Event) -> &'static str {
    match event {
        Event::Opened => "opened",
        Event::Asked(_) => "asked",
        Event::Bound(_) => "bound",
        Event::Made(_) => "made",
        Event::Decided(Decision::Approved) => "approved",
        Event::Decided(Decision::Rejected) => "rejected",
        Event::Started => "started",
        Event::Proposed(_) => "proposed",
        Event::WentOn => "went-on",
        Event::Withdrawn => "withdrawn",
        Event::Resolved(_) => "resolved",
        Event::Expired(_) => "expired",
    }
}

/// The first version of the format that has this event.
fn first_version(event: &Event) -> u64 {
    match event {
        Event::Bound(_) | Event::Made(_) | Event::Proposed(_) | Event::WentOn => 2,
        Event::Opened
        | Event::Asked(_)
        | Event::Decided(_)
        | Event::Started
        | Event::Withdrawn
        | Event::Resolved(_)
        | Event::Expired(_) => 1,
    }
}
