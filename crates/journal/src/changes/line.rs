//! The format of the log: one JSON object per line.
//!
//! ```json
//! {"v":1,"is":"change","id":"5f0c…","at":"2026-01-02T03:04:05Z","chat":"/notes.chat","call":"toolu_01","tool":"write",
//!  "input":"9f86…","run":"77aa…","path":"/src/a.rs","old":{"sha256":"…","mode":420},"new":{"sha256":"…","mode":420},
//!  "sum":"…"}
//! {"v":1,"is":"made","id":"5f0c…","sum":"…"}
//! ```
//!
//! `old` and `new` are `null` where there is no file. A change by the user has `act`, `step` and `reverts` in place of the call.
//! A path that is not UTF-8 is written as `path_hex`. `sum` is a digest of the rest of the line, so that a line that somebody has
//! edited is none: nothing is written to a file because of it.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Cause, Change, ChangeId, FileState};
use flemma_model::Digest;

/// The version of the format.
const VERSION: u64 = 1;

/// How many digits of a digest are enough to know that a line was not edited.
const SUM: usize = 16;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A change is about to be made.
    Change(Box<Change>),
    /// It was made.
    Made(ChangeId),
    /// It was not made.
    NotMade(ChangeId),
}

/// Why a line says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// It was cut off while it was written.
    #[error("was not written completely")]
    Torn,
    /// A newer version of Flemma wrote it.
    #[error("was written by a newer version of Flemma")]
    Newer,
    /// It was edited or damaged.
    #[error("is damaged")]
    Damaged,
}

#[derive(Serialize, Deserialize)]
struct Written {
    v: u64,
    is: String,
    id: ChangeId,
    #[serde(flatten)]
    about: Option<About>,
}

#[derive(Serialize, Deserialize)]
struct About {
    at: String,
    chat: String,
    #[serde(flatten)]
    cause: Cause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    old: Option<State>,
    new: Option<State>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct State {
    sha256: String,
    mode: u32,
}

impl Line {
    /// The line, without the line break.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (is, id, about) = match self {
            Self::Change(change) => ("change", &change.id, Some(About::of(change))),
            Self::Made(id) => ("made", id, None),
            Self::NotMade(id) => ("not made", id, None),
        };
        let written = Written { v: VERSION, is: is.to_owned(), id: id.clone(), about };
        let Ok(Value::Object(mut line)) = serde_json::to_value(&written) else { return String::new() };
        let sum = sum(&line);
        line.insert("sum".to_owned(), sum.into());
        Value::Object(line).to_string()
    }

    /// Reads a line, without its line break.
    ///
    /// # Errors
    /// When it was not written like this by this version.
    pub fn from_text(line: &[u8]) -> Result<Self, LineError> {
        let mut fields: Map<String, Value> = match serde_json::from_slice(line) {
            Ok(fields) => fields,
            Err(error) if error.is_eof() || line.contains(&0) => return Err(LineError::Torn),
            Err(_) => return Err(LineError::Damaged),
        };
        let version = fields.get("v").and_then(Value::as_u64).ok_or(LineError::Damaged)?;
        if version > VERSION {
            return Err(LineError::Newer);
        }
        let said = fields.shift_remove("sum").ok_or(LineError::Damaged)?;
        if said.as_str() != Some(sum(&fields).as_str()) {
            return Err(LineError::Damaged);
        }
        let written: Written = serde_json::from_value(Value::Object(fields)).map_err(|_| LineError::Damaged)?;
        let id = written.id;
        match (written.is.as_str(), written.about) {
            ("change", Some(about)) => {
                about.change(id).map(|change| Self::Change(Box::new(change))).ok_or(LineError::Damaged)
            }
            ("made", None) => Ok(Self::Made(id)),
            ("not made", None) => Ok(Self::NotMade(id)),
            _ => Err(LineError::Damaged),
        }
    }

    /// The change that the line is about.
    #[must_use]
    pub fn id(&self) -> &ChangeId {
        match self {
            Self::Change(change) => &change.id,
            Self::Made(id) | Self::NotMade(id) => id,
        }
    }
}

/// The digest of everything else in a line.
fn sum(fields: &Map<String, Value>) -> String {
    let text = serde_json::to_vec(fields).unwrap_or_default();
    Digest::of(&text).as_str().chars().take(SUM).collect()
}

impl About {
    fn of(change: &Change) -> Self {
        let Change { at, conversation, cause, path, old, new, folders, .. } = change;
        let (text, bytes) = (path.to_str().map(str::to_owned), path.as_os_str().as_encoded_bytes());
        let hex = text.is_none().then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        let folders = folders.iter().filter(|folder| folder.to_str().is_some()).cloned().collect();
        let (old, new) = (state(old), state(new));
        let (at, chat, cause) = (at.to_string(), conversation.clone(), cause.clone());
        Self { at, chat, cause, path: text, path_hex: hex, old, new, folders }
    }

    fn change(self, id: ChangeId) -> Option<Change> {
        let path = match (self.path, self.path_hex) {
            (Some(path), None) => PathBuf::from(path),
            (None, Some(hex)) => PathBuf::from(OsString::from_vec(bytes(&hex)?)),
            _ => return None,
        };
        let at: Timestamp = self.at.parse().ok()?;
        let is_below = |folder: &PathBuf| path.parent().is_some_and(|parent| parent.starts_with(folder));
        if !path.is_absolute() || !self.folders.iter().all(is_below) {
            return None;
        }
        let (old, new) = (read_state(self.old)?, read_state(self.new)?);
        Some(Change { id, at, conversation: self.chat, cause: self.cause, path, old, new, folders: self.folders })
    }
}

fn state(state: &FileState) -> Option<State> {
    match state {
        FileState::Absent => None,
        FileState::File { digest, mode } => Some(State { sha256: digest.as_str().to_owned(), mode: *mode }),
    }
}

fn read_state(state: Option<State>) -> Option<FileState> {
    match state {
        None => Some(FileState::Absent),
        Some(State { sha256, mode }) => {
            let digest = Digest::parse(&sha256).filter(|_| mode <= 0o7777)?;
            Some(FileState::File { digest, mode })
        }
    }
}

/// The bytes that hexadecimal digits stand for.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
