//! The base of paths in rules.

use std::{collections::BTreeSet, path::PathBuf};

use crate::tools::Disk;

/// The targets of relative paths and `~`, and the variables in the environment of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathBase {
    /// The folder that relative paths start from; absolute.
    pub folder: PathBuf,
    /// The folder for `~`, if it is known; absolute.
    pub home: Option<PathBuf>,
    /// The names of the variables in the environment that commands get.
    pub exported: BTreeSet<String>,
    /// Who knows where paths lead.
    pub disk: Disk,
}
