//! What taking changes back does to one file.

use std::path::PathBuf;

use super::{Act, ChangeId, FileState};
use flemma_model::CallId;

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
