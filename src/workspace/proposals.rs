//! What the calls of one conversation that wait would write, as far as that is known.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    journal::{Binding, BoundFile, CallKey, Take},
    model::ModelError,
    tools::{Content, OwnWrites, Proposal, Review, Revision, paths::real},
};

/// The most bytes of the files of a proposal that are kept in memory.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What identifies the present content of a file without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp(u64, u64, (i64, i64), (i64, i64));

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self(found.ino(), found.len(), modified, (found.ctime(), found.ctime_nsec())))
    }
}

/// A proposal that is ready to be shown.
#[derive(Debug)]
pub(super) struct Ready {
    /// What is shown.
    pub(super) review: Review,
    /// The proposal. Of large files, it has no contents.
    pub(super) proposal: Proposal,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
}

impl Ready {
    /// What is shown of a proposal. It takes as long as comparing the files.
    pub(super) fn of(proposal: Proposal) -> Self {
        let review = Review::of(&proposal);
        let stamp = |path: &PathBuf| (path.clone(), Stamp::of(path));
        let stamps = proposal.files.iter().map(|file| stamp(&file.path)).collect();
        Self { review, proposal: proposal.without_bytes_above(MAX_BYTES), stamps }
    }

    /// Whether a file may have changed since, or is open with one of these changes that are not saved. It looks at the disk.
    pub(super) fn is_doubtful(&self, unsaved: &[PathBuf]) -> bool {
        let mut stamps = self.stamps.iter();
        stamps.any(|(path, stamp)| Stamp::of(path) != *stamp || unsaved.iter().any(|open| real(open) == *path))
    }

    /// The revision.
    pub(super) fn revision(&self) -> &Revision {
        &self.review.revision
    }

    /// What an approval of this is for, of which the user takes this of each file.
    pub(super) fn binding(&self, takes: impl IntoIterator<Item = Take>) -> Binding {
        let digest = |content: &Option<Content>| content.as_ref().map(|content| content.digest.as_str().to_owned());
        let files = self.proposal.files.iter().zip(&self.review.changed_lines).zip(takes);
        let files = files.map(|((file, changed_lines), take)| BoundFile {
            path: file.path.to_string_lossy().into_owned(),
            old: digest(&file.old),
            new: digest(&file.new),
            changed_lines: changed_lines.clone(),
            take,
        });
        Binding { revision: self.revision().to_string(), files: files.collect() }
    }
}

/// What a call would write: the proposal, or why there is none.
pub(super) type Found = Result<Arc<Ready>, ModelError>;

#[derive(Default)]
struct Entry {
    /// What was found out last.
    found: Option<Found>,
    /// The number of the attempt that is under way.
    attempt: Option<u64>,
    /// Whether something has changed since that began.
    is_late: bool,
    /// What the user was shown last.
    shown: Option<Binding>,
}

/// The proposals of one conversation.
#[derive(Default)]
pub(super) struct Proposals {
    entries: RefCell<BTreeMap<CallKey, Entry>>,
    /// The calls that have come in this session and of which nothing was proposed yet.
    arrived: RefCell<HashSet<CallKey>>,
    attempts: Cell<u64>,
    own_writes: Arc<OwnWrites>,
}

/// What becomes of an attempt that has ended.
pub(super) struct Ended {
    /// Whether it says something new.
    pub(super) is_news: bool,
    /// Whether the call has just come, and this is the first that is known of it.
    pub(super) is_first: bool,
    /// Whether another attempt is needed.
    pub(super) is_late: bool,
}

impl Proposals {
    /// What calls of this conversation have written.
    pub(super) fn own_writes(&self) -> &Arc<OwnWrites> {
        &self.own_writes
    }

    /// A call has come that waits for approval.
    pub(super) fn arrive(&self, key: CallKey) {
        self.arrived.borrow_mut().insert(key);
    }

    /// Forgets all calls but these.
    pub(super) fn retain(&self, keys: &[CallKey]) {
        self.arrived.borrow_mut().retain(|key| keys.contains(key));
        self.entries.borrow_mut().retain(|key, _| keys.contains(key));
    }

    /// What is known of a call has to be found out again.
    pub(super) fn forget(&self, key: &CallKey) {
        self.entries.borrow_mut().remove(key);
    }

    /// The calls that something is known of, with what that is.
    pub(super) fn all(&self) -> Vec<(CallKey, Option<Found>)> {
        self.entries.borrow().iter().map(|(key, entry)| (key.clone(), entry.found.clone())).collect()
    }

    /// Whether a call is known, or is being looked at.
    pub(super) fn has(&self, key: &CallKey) -> bool {
        self.entries.borrow().contains_key(key)
    }

    /// What is known of a call.
    pub(super) fn found(&self, key: &CallKey) -> Option<Found> {
        self.entries.borrow().get(key)?.found.clone()
    }

    /// Whether a call that has just come is still being looked at.
    pub(super) fn is_looking(&self) -> bool {
        let arrived = self.arrived.borrow();
        !arrived.is_empty()
            && self.entries.borrow().iter().any(|(key, entry)| entry.attempt.is_some() && arrived.contains(key))
    }

    /// An attempt to find out what a call would write begins: its number. `None` if one is under way, which is repeated then.
    pub(super) fn begin(&self, key: &CallKey) -> Option<u64> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.entry(key.clone()).or_default();
        if entry.attempt.is_some() {
            entry.is_late = true;
            return None;
        }
        self.attempts.set(self.attempts.get() + 1);
        entry.attempt = Some(self.attempts.get());
        entry.attempt
    }

    /// An attempt has ended; `None` if nobody waits for it any more.
    pub(super) fn end(&self, key: &CallKey, attempt: u64, found: Found) -> Option<Ended> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.get_mut(key).filter(|entry| entry.attempt == Some(attempt))?;
        entry.attempt = None;
        let is_news = match (&entry.found, &found) {
            (Some(Ok(before)), Ok(now)) => before.revision() != now.revision(),
            (Some(Err(before)), Err(now)) => before != now,
            _ => true,
        };
        entry.found = Some(found);
        let is_late = std::mem::take(&mut entry.is_late);
        Some(Ended { is_news, is_first: self.arrived.borrow_mut().remove(key), is_late })
    }

    /// The user is shown now what is known of a call.
    pub(super) fn show(&self, key: &CallKey) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(key) {
            entry.shown = match &entry.found {
                None => None,
                Some(Ok(ready)) => Some(ready.binding(ready.proposal.files.iter().map(|_| Take::Proposed))),
                Some(Err(problem)) => {
                    Some(Binding { revision: Revision::of_problem(problem).to_string(), files: Vec::new() })
                }
            };
        }
    }

    /// What the user was shown last of a call; `None` if nothing was.
    pub(super) fn shown(&self, key: &CallKey) -> Option<Binding> {
        self.entries.borrow().get(key)?.shown.clone()
    }
}
