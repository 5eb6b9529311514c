//! The other names of a file: a denial for one of them holds for all.
//!
//! A file does not say which other names it has. So they are looked for in the folders of the denials.

use std::{
    fs::{self, Metadata},
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::{Path, PathBuf},
};

use super::DeniedPaths;

/// How many files are looked at.
const MOST: usize = 50_000;

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
    /// What the rules say of the names of a file. This reads the disk if the file has several.
    #[must_use]
    pub fn judge_names(&self, file: &Metadata) -> Names<'_> {
        if !file.is_file() || file.nlink() < 2 {
            return Names::Allowed;
        }
        let mut left = MOST;
        for (rule, base) in self.folders() {
            let is_denied = |path: &Path| self.rule_about(path) == Some(rule);
            match other_name(file, base, &is_denied, &mut left) {
                Some(None) => {}
                Some(Some(name)) => return Names::Denied { rule, name },
                None => return Names::Unknown { rule },
            }
        }
        Names::Allowed
    }
}

/// The name of a file that is at `base` or below it and for which `is_denied` says yes; `None` if not all of them could be looked at.
/// Folders that cannot be read have none.
fn other_name(
    file: &Metadata,
    base: &Path,
    is_denied: &dyn Fn(&Path) -> bool,
    left: &mut usize,
) -> Option<Option<PathBuf>> {
    let is_same = |path: &Path| {
        path.symlink_metadata().is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
            && is_denied(path)
    };
    if is_same(base) {
        return Some(Some(base.to_owned()));
    }
    let mut folders = vec![base.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1)?;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.ino() == file.ino() && is_same(&entry.path()) {
                return Some(Some(entry.path()));
            }
        }
    }
    Some(None)
}
