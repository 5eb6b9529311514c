//! Status blocks: the fence in place of a result that does not exist yet.
//!
//! ````text
//! ```flemma:tool status=pending expires="2026-12-01T10:00:00Z"
//! ```
//! ````
//!
//! The user edits the status by hand. Case is ignored, and `reject` and `deny` are read as `rejected` and `denied`. A
//! block with an invalid status is an error of the document: no tool runs until it is fixed. Such a block is read as `pending`.

use super::{attributes, words::words};
use flemma_text::suggest::nearest;

/// The first word of the info string of a status block.
pub(super) const INFO: &str = "flemma:tool";

/// The prefix of all info strings that are reserved for Flemma.
pub(super) const RESERVED: &str = "flemma:";

words! {
    /// The status of a call, written `status=S` in the info string of the fence, in the order in which a call may pass
    /// through them.
    pub enum Status {
        /// The user has to decide.
        Pending = "pending",
        /// It may run.
        Approved = "approved",
        /// Denied by a policy.
        Denied = "denied",
        /// Rejected by the user. Text in the block is the reason.
        Rejected = "rejected",
        /// It is running.
        Running = "running",
    }
}

impl Status {
    /// The status that `word` names, ignoring case; `None` if there is none. `reject` and `deny` are accepted for
    /// `rejected` and `denied`.
    pub fn parse(word: &str) -> Option<Self> {
        let others = [("reject", Self::Rejected), ("deny", Self::Denied)];
        let words = Self::ALL.into_iter().map(|status| (status.as_str(), status)).chain(others);
        words.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, status)| status)
    }
}

/// The info string of a status block, with all its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusBlock {
    /// The status; [`Status::Pending`] if it is invalid.
    pub status: Status,
    /// The other attributes, in order, unquoted.
    pub attributes: Vec<(String, String)>,
}

impl StatusBlock {
    /// A block with a status and no other attributes.
    pub const fn new(status: Status) -> Self {
        Self { status, attributes: Vec::new() }
    }

    /// Reads the info string of a fence; `None` if it is not a status block's.
    pub fn parse(info: &str) -> Option<Self> {
        Self::read(info).map(|(block, _)| block)
    }

    /// Like [`StatusBlock::parse`], with the fault of the status, if there is one.
    pub(super) fn read(info: &str) -> Option<(Self, Option<String>)> {
        let (word, words) = attributes::split(info);
        if !word.starts_with(RESERVED) {
            return None;
        }
        let (mut statuses, mut others) = (Vec::new(), Vec::new());
        for attribute in attributes::read(words) {
            match attribute.value {
                Some(value) if attribute.key == "status" => statuses.push((attribute.sound, value)),
                Some(value) => others.push((attribute.key.to_owned(), value.into_owned())),
                None => {}
            }
        }
        let status = match statuses.as_slice() {
            _ if word != INFO => {
                Err(format!("There is no block `{word}`. Write `{INFO} status=…`, with one of {}.", all_statuses()))
            }
            [] => Err(format!("This block has no status. Write `{INFO} status=…`, with one of {}.", all_statuses())),
            [(sound, word)] => Status::parse(word).filter(|_| *sound).ok_or_else(|| unknown(word)),
            _ => Err("This block has more than one `status=`. Keep one of them.".to_owned()),
        };
        let block = Self { status: *status.as_ref().unwrap_or(&Status::Pending), attributes: others };
        Some((block, status.err()))
    }

    /// The value of an attribute other than `status`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The info string of the fence.
    pub fn info(&self) -> String {
        let mut info = format!("{INFO} status={}", self.status);
        for (key, value) in &self.attributes {
            info.push(' ');
            info.push_str(key);
            info.push('=');
            info.push_str(&attributes::write(value));
        }
        info
    }
}

/// There is no status of this name.
fn unknown(word: &str) -> String {
    let near = nearest(word, Status::ALL.map(Status::as_str));
    let meant = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
    format!("There is no status `{word}`.{meant} The statuses are {}.", all_statuses())
}

fn all_statuses() -> String {
    Status::ALL.map(|status| format!("`{status}`")).join(", ")
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
