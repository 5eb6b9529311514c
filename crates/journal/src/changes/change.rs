//! One change of one file, and what taking changes back does to it.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::line::{read_path, write_path};
use flemma_model::{CallId, Digest};

/// The name of a change, which no other change has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangeId(pub String);

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub id: ChangeId,
    /// When it was made.
    pub at: Timestamp,
    /// The conversation, for people who read the log: its file, or nothing.
    #[serde(rename = "chat")]
    pub conversation: String,
    /// What it was made for.
    #[serde(flatten)]
    pub cause: Cause,
    /// The file, with links resolved; absolute.
    #[serde(flatten, serialize_with = "write_path", deserialize_with = "read_path")]
    pub path: PathBuf,
    /// What there was before.
    pub old: FileState,
    /// What there is afterwards.
    pub new: FileState,
    /// The folders that were made for it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    /// Whether there can be such a change.
    pub(super) fn is_sound(&self) -> bool {
        let Self { path, old, new, folders, .. } = self;
        let is_below = |folder: &PathBuf| path.parent().is_some_and(|parent| parent.starts_with(folder));
        let has_bits = |state: &FileState| !matches!(state, FileState::File { mode, .. } if *mode > 0o7777);
        path.is_absolute() && folders.iter().all(is_below) && has_bits(old) && has_bits(new)
    }

    /// The call that has made it.
    pub fn call(&self) -> Option<&CallId> {
        match &self.cause {
            Cause::Call { id, .. } => Some(id),
            Cause::User { .. } => None,
        }
    }

    /// The changes that it takes back.
    pub fn reverts(&self) -> &[ChangeId] {
        match &self.cause {
            Cause::Call { .. } => &[],
            Cause::User { reverts, .. } => reverts,
        }
    }
}

/// What there is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Its content.
        #[serde(rename = "sha256")]
        digest: Digest,
        /// Its permissions.
        mode: u32,
    },
}

impl FileState {
    /// The digest of the content, if there is a file.
    pub fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Absent => None,
            Self::File { digest, .. } => Some(digest),
        }
    }
}

/// What taking changes back does to one file: however many changes of it there were, it goes to one state at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file.
    pub path: PathBuf,
    /// Which way it goes.
    pub act: Act,
    /// What it becomes.
    pub target: FileState,
    /// What it is unless somebody else has changed it.
    pub expected: FileState,
    /// Whether nobody else has changed it between the changes that are taken back, as far as the log says.
    pub is_unbroken: bool,
    /// The changes that are taken back.
    pub reverts: Vec<ChangeId>,
    /// The calls whose changes were to be taken back.
    pub calls: Vec<CallId>,
    /// Later calls, whose changes of this file are lost with them.
    pub also: Vec<CallId>,
    /// The call that has changed the file since, which keeps it from going forward.
    pub blocked_by: Option<CallId>,
    /// Folders that were made for the file, innermost first: they go with it if they are empty.
    pub folders: Vec<PathBuf>,
}
