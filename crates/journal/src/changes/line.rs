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

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

use super::{Change, ChangeId};
use crate::LineError;
use flemma_model::Digest;

/// The version of the format.
const VERSION: u64 = 1;

/// How many digits of a digest are enough to know that a line was not edited.
const SUM: usize = 16;

/// A line of the log.
#[expect(missing_docs, reason = "what is said of a line says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is")]
pub enum Line {
    /// A change is about to be made.
    #[serde(rename = "change")]
    Change(Box<Change>),
    /// The change of this name was made.
    #[serde(rename = "made")]
    Made { id: ChangeId },
    /// The change of this name was not made.
    #[serde(rename = "not made")]
    NotMade { id: ChangeId },
}

impl Line {
    /// The line, without the line break.
    pub fn to_text(&self) -> String {
        let Ok(Value::Object(mut line)) = serde_json::to_value(self) else { return String::new() };
        line.shift_insert(0, "v".to_owned(), VERSION.into());
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
            Err(_) => return Err(LineError::Broken),
        };
        let version = fields.get("v").and_then(Value::as_u64).ok_or(LineError::Broken)?;
        if version > VERSION {
            return Err(LineError::Newer);
        }
        let said = fields.shift_remove("sum");
        if said.as_ref().and_then(Value::as_str) != Some(sum(&fields).as_str()) {
            return Err(LineError::Broken);
        }
        match serde_json::from_value(Value::Object(fields)) {
            Ok(Self::Change(change)) if !change.is_sound() => Err(LineError::Broken),
            read => read.map_err(|_| LineError::Broken),
        }
    }

    /// The change that the line is about.
    pub fn id(&self) -> &ChangeId {
        match self {
            Self::Change(change) => &change.id,
            Self::Made { id } | Self::NotMade { id } => id,
        }
    }
}

/// The digest of everything else in a line.
fn sum(fields: &Map<String, Value>) -> String {
    let text = serde_json::to_vec(fields).unwrap_or_default();
    Digest::of(&text).as_str().chars().take(SUM).collect()
}

/// A path as a line has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenPath {
    Path(String),
    PathHex(String),
}

/// Writes a path.
pub(super) fn write_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    let hex = || path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    path.to_str().map_or_else(|| WrittenPath::PathHex(hex()), |path| WrittenPath::Path(path.to_owned())).serialize(to)
}

/// Reads a path.
pub(super) fn read_path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    match WrittenPath::deserialize(from)? {
        WrittenPath::Path(path) => Ok(path.into()),
        WrittenPath::PathHex(hex) => {
            let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
            bytes.map(|bytes| OsString::from_vec(bytes).into()).ok_or_else(|| D::Error::custom("it is no path"))
        }
    }
}
