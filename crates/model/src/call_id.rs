//! Ids of tool calls.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of one tool call. Vendors choose it; it is unique within one message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId(pub String);

impl CallId {
    /// Whether a character cannot be in the id of a call in a document: the header of a result could not name it.
    pub fn is_bad(c: char) -> bool {
        c.is_control() || c == '`'
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}
