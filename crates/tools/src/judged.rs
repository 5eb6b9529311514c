//! Which files were judged of a call that starts.
//!
//! Whoever approves a call judges paths, and a tool opens them a moment later, or much later if it waits for others. So what is opened
//! is compared: a path that the call names must lead where it led when the call was approved. What a policy has approved uses nothing
//! else than what is below that. Otherwise the tool does nothing, and the call waits for the user.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use flemma_model::{ModelError, UserError};
use flemma_text::escape_controls;

/// The files of one call. The default is a call that names none: its policy has approved whatever it uses.
#[derive(Debug, Default)]
pub struct Judged {
    /// The paths that the call names, each with where it led.
    named: BTreeMap<PathBuf, PathBuf>,
    /// Those that had several names (hard links).
    linked: BTreeSet<PathBuf>,
    /// Whether the user has approved the call, and not a policy of theirs.
    is_by_user: bool,
    /// Whether the tool stays in a folder.
    has_folder: bool,
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

    /// The tool stays in this folder, which led to `real`.
    pub fn add_folder(&mut self, path: PathBuf, real: PathBuf) {
        self.add(path, real, false);
        self.has_folder = true;
    }

    /// The same files, approved by the user. What else the tool finds with them is theirs to use as well.
    pub fn by_user(self) -> Self {
        Self { is_by_user: true, ..self }
    }

    /// Whether a policy has approved the call.
    pub fn is_by_policy(&self) -> bool {
        !self.is_by_user
    }

    /// Whether everything may be used.
    pub(super) fn is_everything(&self) -> bool {
        self.named.is_empty()
    }

    /// Where a path led that the call names; `None` for any other.
    pub fn place_of(&self, path: &Path) -> Option<&Path> {
        self.named.get(path).map(PathBuf::as_path)
    }

    /// Whether the same paths lead to the same places.
    pub fn leads_as(&self, other: &Self) -> bool {
        self.named == other.named
    }

    /// Where the paths lead, for the journal.
    pub fn places(&self) -> BTreeMap<String, String> {
        self.named.iter().map(|(path, place)| (lossy(path), lossy(place))).collect()
    }

    /// The first path that led elsewhere before, with where it leads now.
    pub fn strays_from(&self, before: &BTreeMap<String, String>) -> Option<(&Path, &Path)> {
        let strays = |(path, place): &(&PathBuf, &PathBuf)| {
            before.get(&lossy(path)).is_some_and(|before| *before != lossy(place))
        };
        self.named.iter().find(strays).map(|(path, place)| (path.as_path(), place.as_path()))
    }

    /// Whether a policy that has approved what these paths lead to has approved these other files.
    pub fn covers(&self, other: &Self) -> bool {
        other.named.iter().all(|(path, place)| self.judges(path, place))
    }

    fn judges(&self, path: &Path, real: &Path) -> bool {
        match self.place_of(path) {
            Some(place) => place == real,
            None => self.is_everything() || self.named.values().any(|place| real.starts_with(place)),
        }
    }

    /// Whether a tool may use the file at `real`, which has no links and to which `path` has led it.
    pub(super) fn admits(&self, path: &Path, real: &Path) -> bool {
        let is_found = self.is_by_user && !self.has_folder && self.place_of(path).is_none();
        is_found || self.judges(path, real)
    }

    /// Whether a file that has several names was judged as such.
    pub(super) fn admits_linked(&self, real: &Path) -> bool {
        let is_named = || self.named.values().any(|place| place == real);
        self.is_everything() || self.linked.contains(real) || (self.is_by_user && !is_named())
    }

    /// The tool has to stop, because something is not what was judged: the user has to decide. Gives what the tool ends with.
    pub(super) fn stray(&self, name: &str, why: &str) -> ModelError {
        let words = format!("{} {why}", escape_controls(name));
        let problem = ModelError::new(format!("{words}."));
        let who = if self.is_by_user { "the call was approved" } else { "your rules approved this call" };
        let _ = self.strayed.set(UserError::new(format!("{who}, but {words}; look at it")));
        problem
    }

    /// Why the user has to decide about the call, if they have to.
    pub(super) fn strayed(&self) -> Option<&UserError> {
        self.strayed.get()
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
