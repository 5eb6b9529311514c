//! One change of one file.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::FileState;
use flemma_model::CallId;

/// The name of a change, which no other change has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangeId(pub String);

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub id: ChangeId,
    /// When it was made.
    pub at: Timestamp,
    /// The conversation, for people who read the log: its file, or nothing.
    pub conversation: String,
    /// What it was made for.
    pub cause: Cause,
    /// The file, with links resolved; absolute.
    pub path: PathBuf,
    /// What there was before.
    pub old: FileState,
    /// What there is afterwards.
    pub new: FileState,
    /// The folders that were made for it, outermost first.
    pub folders: Vec<PathBuf>,
}

/// What a change was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cause {
    /// A tool call.
    Call {
        /// The call's id.
        #[serde(rename = "call")]
        id: CallId,
        /// The tool's name.
        tool: String,
        /// The digest of the call's input.
        input: String,
        /// All changes of one run of a call have the same.
        run: String,
    },
    /// The user, who has taken changes back.
    User {
        /// Whether those were changes of calls, or changes that had taken some back.
        act: Act,
        /// All changes of one command have the same.
        step: String,
        /// The changes that are taken back.
        reverts: Vec<ChangeId>,
    },
}

/// How a user takes changes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Changes of calls.
    Undo,
    /// Changes that had taken others back.
    Redo,
}

impl Change {
    /// The call that has made it.
    #[must_use]
    pub fn call(&self) -> Option<&CallId> {
        match &self.cause {
            Cause::Call { id, .. } => Some(id),
            Cause::User { .. } => None,
        }
    }

    /// The changes that it takes back.
    #[must_use]
    pub fn reverts(&self) -> &[ChangeId] {
        match &self.cause {
            Cause::Call { .. } => &[],
            Cause::User { reverts, .. } => reverts,
        }
    }
}
