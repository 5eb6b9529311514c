//! The base of paths in rules.

use std::{collections::BTreeSet, env, path::PathBuf};

use crate::Disk;
use flemma_process::Grammar;

/// The targets of relative paths and `~`, and how a command is read and finds its programs.
#[derive(Clone, Debug, Default)]
pub struct PathBase {
    /// The folder that relative paths start from, and in which a command runs; absolute.
    pub folder: PathBuf,
    /// The folder for `~`, if it is known; absolute.
    pub home: Option<PathBuf>,
    /// The names of the variables in the environment that commands get.
    pub exported: BTreeSet<String>,
    /// Whether programs are also looked up in the folder of the command: `PATH` has a relative folder.
    pub looks_in_the_folder: bool,
    /// The shell that runs commands.
    pub shell: CommandShell,
    /// Who knows where paths lead.
    pub disk: Disk,
}

/// The shell that runs commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandShell {
    /// One that reads commands in this way.
    Known(Grammar),
    /// The one that the user has named, or else the one that is there. It is asked what it is.
    Asked(Option<String>),
}

impl Default for CommandShell {
    fn default() -> Self {
        Self::Known(Grammar::Bash)
    }
}

impl PathBase {
    /// What holds for commands and paths in this folder, with the environment of this process.
    pub fn of_process(folder: PathBuf) -> Self {
        let exported = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let path = env::var_os("PATH").unwrap_or_default();
        let looks_in_the_folder = env::split_paths(&path).any(|folder| !folder.is_absolute());
        Self { folder, home: env::home_dir(), exported, looks_in_the_folder, ..Self::default() }
    }

    /// How the shell reads commands.
    pub(super) fn grammar(&self) -> Grammar {
        match &self.shell {
            CommandShell::Known(grammar) => *grammar,
            CommandShell::Asked(named) => self.disk.grammar(named.as_deref()),
        }
    }
}
