//! Status blocks: the fence that stands in the place of a result that is not there yet.
//!
//! ````text
//! ```flemma:tool status=pending expires="2026-12-01T10:00:00Z"
//! ```
//! ````
//!
//! The user edits the status by hand, so it is read leniently: a status that nobody knows is
//! `pending`, which never runs anything.

use std::fmt;

use super::attributes;

/// The word that opens the info string of a status block.
pub(super) const INFO: &str = "flemma:tool";

/// What every info string that belongs to Flemma starts with.
pub(super) const RESERVED: &str = "flemma:";

/// The first word on where a call stands. Written `status=S` in the fence's info string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Waits for the user.
    Pending,
    /// May run.
    Approved,
    /// Refused by policy.
    Denied,
    /// Refused by the user; text in the block is the reason.
    Rejected,
    /// Runs now.
    Running,
}

impl Status {
    /// Every status, in the order in which a call may pass through them.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Approved, Self::Denied, Self::Rejected, Self::Running];

    /// The word in the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Rejected => "rejected",
            Self::Running => "running",
        }
    }

    /// The status that `word` names, in any case; `None` for a word that names none.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(word))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The info string of a status block, with every attribute as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusBlock {
    /// The status; one that nobody knows reads as [`Status::Pending`].
    pub status: Status,
    /// The other attributes, in order, unquoted.
    pub attributes: Vec<(String, String)>,
}

impl StatusBlock {
    /// A block with a status and nothing else.
    #[must_use]
    pub const fn new(status: Status) -> Self {
        Self { status, attributes: Vec::new() }
    }

    /// Reads the info string of a fence; `None` if it is not a status block's.
    #[must_use]
    pub fn parse(info: &str) -> Option<Self> {
        let rest = info.trim().strip_prefix(RESERVED)?;
        let words = rest.find(char::is_whitespace).map_or("", |end| &rest[end..]);
        let mut status = None;
        let mut others = Vec::new();
        for attribute in attributes::read(words) {
            let Some(value) = attribute.value else { continue };
            if attribute.key == "status" && status.is_none() {
                status = Some(Status::parse(&value).unwrap_or(Status::Pending));
            } else {
                others.push((attribute.key.to_owned(), value.into_owned()));
            }
        }
        Some(Self { status: status.unwrap_or(Status::Pending), attributes: others })
    }

    /// The value of an attribute other than `status`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The info string of the fence.
    #[must_use]
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

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
