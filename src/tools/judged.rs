//! Which files a policy has judged of a call that starts.
//!
//! A policy judges paths, and a tool opens them a moment later, or much later if it waits for others. So what is opened is compared:
//! a path that the call names must lead where it led, and anything else must be below what the call names. Otherwise the tool does
//! nothing, and the call waits for the user.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    model::{ModelError, UserError},
    text::escape_controls,
};

/// The files of one call. The default is a call that names none: its policy has approved whatever it uses.
#[derive(Debug, Default)]
pub struct Judged {
    /// The paths that the call names, each with where it led.
    named: BTreeMap<PathBuf, PathBuf>,
    /// Those that had several names (hard links).
    linked: BTreeSet<PathBuf>,
    /// Why the user has to decide.
    strayed: OnceLock<UserError>,
}

impl Judged {
    /// A path that the call names led to `real`, a file with several names or not.
    pub fn add(&mut self, path: PathBuf, real: PathBuf, is_linked: bool) {
        if is_linked {
            self.linked.insert(real.clone());
        }
        self.named.insert(path, real);
    }

    /// Whether everything may be used.
    pub(super) fn is_everything(&self) -> bool {
        self.named.is_empty()
    }

    /// Where a path led that the call names; `None` for any other.
    #[must_use]
    pub fn place_of(&self, path: &Path) -> Option<&Path> {
        self.named.get(path).map(PathBuf::as_path)
    }

    /// Whether the same paths lead to the same places.
    #[must_use]
    pub fn leads_as(&self, other: &Self) -> bool {
        self.named == other.named
    }

    /// Whether a tool may use the file at `real`, which has no links and to which `path` has led it.
    pub(super) fn admits(&self, path: &Path, real: &Path) -> bool {
        match self.place_of(path) {
            Some(place) => place == real,
            None => self.is_everything() || self.named.values().any(|place| real.starts_with(place)),
        }
    }

    /// Whether a file that has several names was judged as such.
    pub(super) fn admits_linked(&self, real: &Path) -> bool {
        self.is_everything() || self.linked.contains(real)
    }

    /// The tool has to stop, because something is not what was judged: the user has to decide. Gives what the tool ends with.
    pub(super) fn stray(&self, name: &str, why: &str) -> ModelError {
        let words = format!("{} {why}", escape_controls(name));
        let problem = ModelError::new(format!("{words}."));
        let _ = self.strayed.set(UserError::new(format!("your rules approved this call, but {words}; look at it")));
        problem
    }

    /// Why the user has to decide about the call, if they have to.
    pub(super) fn strayed(&self) -> Option<&UserError> {
        self.strayed.get()
    }
}
