//! The other names of a file: a denial for one of them holds for all.

use std::path::PathBuf;

use super::DeniedPaths;
use crate::linked::{FilesBelow, Linked};

/// What the rules say of the names of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names<'a> {
    /// None of them is denied.
    Allowed,
    /// One is denied.
    Denied {
        /// The rule.
        rule: &'a str,
        /// The name.
        name: PathBuf,
    },
    /// There are too many files in the folder of a rule to find out.
    Unknown {
        /// The rule.
        rule: &'a str,
    },
}

impl DeniedPaths {
    /// What the rules say of the names of a file, which is `None` for one that has no other name. This reads the disk when it is asked
    /// about the first file with several names.
    #[must_use]
    pub fn judge_names(&self, file: Option<Linked>) -> Names<'_> {
        let Some(file) = file.filter(|_| !self.is_empty()) else { return Names::Allowed };
        let below = self.files.get_or_init(|| FilesBelow::find(self.folders().map(|(_, folder)| folder)));
        let rule = |at: usize| self.folders().nth(at).map_or("", |(rule, _)| rule);
        let mut names = below.names_of(file);
        if let Some((at, name)) = names.find(|(at, name)| self.rule_about(name) == Some(rule(*at))) {
            return Names::Denied { rule: rule(at), name: name.to_owned() };
        }
        below.partial().map_or(Names::Allowed, |at| Names::Unknown { rule: rule(at) })
    }
}
