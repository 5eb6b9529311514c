//! Where paths start.

use std::{collections::BTreeSet, path::PathBuf};

/// Where relative paths and `~` lead, and which variables the environment of a command has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathBase {
    /// The folder that relative paths start from; absolute.
    pub folder: PathBuf,
    /// The folder behind `~`, if it is known; absolute.
    pub home: Option<PathBuf>,
    /// The names of the variables in the environment that commands get.
    pub exported: BTreeSet<String>,
}
