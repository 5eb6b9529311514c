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

use serde::{Deserialize, Serialize, de::IgnoredAny};
use thiserror::Error;

use super::{Event, Record};

/// The version of the format.
const VERSION: u64 = 2;

/// Why a line is not a record, of a call or of a change.
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
    pub fn to_line(&self) -> String {
        // The first version that has this event.
        let v = match self.event {
            Event::Bound { .. } | Event::Made { .. } | Event::Proposed { .. } | Event::WentOn => 2,
            _ => 1,
        };
        // Its parts are texts, numbers and what was read from JSON.
        serde_json::to_string(&Written { v, record: self }).unwrap_or_default()
    }

    /// Reads a line, with or without its line break.
    ///
    /// # Errors
    /// When it is not a record of this or an older version.
    pub fn from_line(line: &[u8]) -> Result<Self, LineError> {
        let read = serde_json::from_slice::<Self>(line);
        let has_result = |record: &Self| matches!(record.event, Event::Resolved(_) | Event::Expired(_));
        match (read, serde_json::from_slice(line)) {
            (_, Ok(Known { v, .. })) if v > VERSION => Err(LineError::Newer),
            (Ok(record), Ok(Known { v: 1.., output })) if output.is_some() == has_result(&record) => Ok(record),
            (Err(error), _) if error.is_eof() || line.contains(&0) => Err(LineError::Torn),
            _ => Err(LineError::Broken),
        }
    }
}

#[derive(Serialize)]
struct Written<'a> {
    v: u64,
    #[serde(flatten)]
    record: &'a Record,
}

/// What is looked at beside the record.
#[derive(Deserialize)]
struct Known {
    v: u64,
    output: Option<IgnoredAny>,
}
