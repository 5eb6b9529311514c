//! What the calls of one conversation that wait would write, as far as that is known.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    journal::{Before, Binding, BoundFile, CallKey, Take},
    model::ModelError,
    tools::{Base, Content, Earlier, Proposal, Review, Revision, paths::real},
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
    /// For each file the call above that would write it last, if there is one: it is shown as that would leave it.
    after: Vec<Option<CallKey>>,
    /// What it was made from, of what the calls above would write.
    base: Base,
    /// What each file really has, where it is shown as calls above would leave it.
    on_disk: Vec<Before>,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
}

impl Ready {
    /// What is shown of a proposal that was made from what these calls above it would write. It takes as long as comparing the
    /// files.
    pub(super) fn of(proposal: Proposal, earlier: &Earlier, above: &[CallKey]) -> Self {
        let review = Review::of(&proposal);
        let stamp = |path: &PathBuf| (path.clone(), Stamp::of(path));
        let stamps = proposal.files.iter().map(|file| stamp(&file.path)).collect();
        let on_disk = proposal.files.iter().map(|file| match earlier.on_disk(&file.path) {
            None => Before::Unknown,
            Some(None) => Before::Absent,
            Some(Some(digest)) => Before::Content(digest.as_str().to_owned()),
        });
        let on_disk = on_disk.collect();
        let writer = |path: &PathBuf| {
            let id = earlier.writer(path)?;
            above.iter().rfind(|key| key.id == *id).cloned()
        };
        let after = proposal.files.iter().map(|file| writer(&file.path)).collect();
        let base = earlier.base();
        Self { review, proposal: proposal.without_bytes_above(MAX_BYTES), after, base, on_disk, stamps }
    }

    /// Whether a file may have changed since, or is open with one of these changes that are not saved. It looks at the disk.
    pub(super) fn is_doubtful(&self, unsaved: &[PathBuf]) -> bool {
        let mut stamps = self.stamps.iter();
        stamps.any(|(path, stamp)| Stamp::of(path) != *stamp || unsaved.iter().any(|open| real(open) == *path))
    }

    /// Whether it would be made from something else now, of what the calls above would write.
    pub(super) fn has_other_base(&self, earlier: &Earlier) -> bool {
        !earlier.is_still(&self.base)
    }

    /// The revision.
    pub(super) fn revision(&self) -> &Revision {
        &self.review.revision
    }

    /// The calls above whose changes it follows, in no order.
    fn followed(&self) -> Vec<CallKey> {
        let calls: BTreeSet<&CallKey> = self.after.iter().flatten().collect();
        calls.into_iter().cloned().collect()
    }

    /// Which calls it follows, in words for the user; `None` if it is made from what is there.
    pub(super) fn follows(&self) -> Option<String> {
        match self.followed().as_slice() {
            [] => None,
            [call] => Some(after(call)),
            calls => {
                Some(format!("after the calls above, {}", calls.iter().map(label).collect::<Vec<_>>().join(" and ")))
            }
        }
    }

    /// The same for each file.
    pub(super) fn file_follows(&self) -> impl Iterator<Item = Option<String>> {
        self.after.iter().map(|call| call.as_ref().map(after))
    }

    /// What an approval of this is for, of which the user takes this of each file.
    pub(super) fn binding(&self, takes: impl IntoIterator<Item = Take>) -> Binding {
        let digest = |content: &Option<Content>| content.as_ref().map(|content| content.digest.as_str().to_owned());
        let files = self.proposal.files.iter().zip(&self.on_disk).zip(takes);
        let files = files.map(|((file, on_disk), take)| BoundFile {
            path: file.path.to_string_lossy().into_owned(),
            old: digest(&file.old),
            on_disk: on_disk.clone(),
            new: digest(&file.new),
            take,
        });
        Binding { revision: self.revision().to_string(), files: files.collect() }
    }
}

/// A call in a message: `edit (toolu_01)`.
pub(super) fn label(key: &CallKey) -> String {
    format!("{} ({})", key.tool, key.id)
}

fn after(key: &CallKey) -> String {
    format!("after the call above, {}", label(key))
}

/// What a call would write: the proposal, or why there is none.
pub(super) type Found = Result<Arc<Ready>, ModelError>;

#[derive(Default)]
struct Entry {
    /// What was found out last.
    found: Option<Found>,
    /// Whether it has to be found out again.
    is_due: bool,
    /// The calls above that the last proposal followed.
    followed: Vec<CallKey>,
    /// What the user was shown last.
    shown: Option<Binding>,
    /// What the files had when a change of them was first found out.
    first: BTreeMap<PathBuf, Content>,
}

/// The proposals of one conversation. They are found out together, from the first call to the last ([`super::survey`]).
#[derive(Default)]
pub(super) struct Proposals {
    entries: RefCell<BTreeMap<CallKey, Entry>>,
    /// The calls that have come in this session and of which nothing was proposed yet.
    arrived: RefCell<HashSet<CallKey>>,
    /// The calls that the last survey was about, in order.
    surveyed: RefCell<Vec<CallKey>>,
    /// Those of them that no tool was asked about.
    skipped: RefCell<Vec<CallKey>>,
    /// The number of the survey that is under way.
    survey: Cell<Option<u64>>,
    /// Whether something has changed since it began.
    is_late: Cell<bool>,
    surveys: Cell<u64>,
    /// What files had when changes of them were first shown that the user has approved since, in another form.
    first: RefCell<BTreeMap<CallKey, BTreeMap<PathBuf, Content>>>,
}

/// What a survey has found out about a call.
pub(super) struct News {
    /// Whether it says something new.
    pub(super) is_news: bool,
    /// Whether the call has just come, and this is the first that is known of it.
    pub(super) is_first: bool,
    /// The calls above that the last proposal followed.
    pub(super) followed: Vec<CallKey>,
}

impl Proposals {
    /// A call has come that waits for approval.
    pub(super) fn arrive(&self, key: CallKey) {
        self.arrived.borrow_mut().insert(key);
    }

    /// Forgets all calls but these.
    pub(super) fn retain(&self, keys: &[CallKey]) {
        self.arrived.borrow_mut().retain(|key| keys.contains(key));
        self.entries.borrow_mut().retain(|key, _| keys.contains(key));
    }

    /// What is known of a call has to be found out again. What the user was shown of it still is what they were shown.
    pub(super) fn doubt(&self, key: &CallKey) {
        self.entries.borrow_mut().entry(key.clone()).or_default().is_due = true;
    }

    /// What is known of a call.
    pub(super) fn found(&self, key: &CallKey) -> Option<Found> {
        self.entries.borrow().get(key)?.found.clone()
    }

    /// What is known of a call and does not have to be found out again, to be checked by a survey that begins.
    pub(super) fn take_known(&self, key: &CallKey) -> Option<Arc<Ready>> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.entry(key.clone()).or_default();
        let is_due = std::mem::take(&mut entry.is_due);
        entry.found.clone().filter(|_| !is_due)?.ok()
    }

    /// The proposals of these calls, if all of them have one that does not have to be found out again.
    pub(super) fn all_of(&self, keys: &[CallKey]) -> Option<Vec<Arc<Ready>>> {
        let entries = self.entries.borrow();
        let ready = |key: &CallKey| entries.get(key).filter(|entry| !entry.is_due)?.found.clone()?.ok();
        let skipped = self.skipped.borrow();
        keys.iter().filter(|key| !skipped.contains(key)).map(ready).collect()
    }

    /// Whether a call that has just come is still being looked at.
    pub(super) fn is_looking(&self) -> bool {
        let (surveyed, skipped) = (self.surveyed.borrow(), self.skipped.borrow());
        let is_looked_at = |key: &CallKey| surveyed.contains(key) && !skipped.contains(key);
        self.survey.get().is_some() && self.arrived.borrow().iter().any(is_looked_at)
    }

    /// Whether the last survey was about these calls, in this order, and none of them has to be found out again.
    pub(super) fn is_about(&self, keys: &[CallKey]) -> bool {
        let entries = self.entries.borrow();
        *self.surveyed.borrow() == keys && !keys.iter().any(|key| entries.get(key).is_some_and(|entry| entry.is_due))
    }

    /// What the last survey has left known of the calls that it was about.
    pub(super) fn surveyed(&self) -> Vec<(CallKey, Found)> {
        let entries = self.entries.borrow();
        let known = |key: &CallKey| Some((key.clone(), entries.get(key)?.found.clone()?));
        self.surveyed.borrow().iter().filter_map(known).collect()
    }

    /// The calls that the last survey was about and no tool was asked about.
    pub(super) fn skipped(&self) -> Vec<CallKey> {
        self.skipped.borrow().clone()
    }

    /// A survey begins: its number. `None` if one is under way, which is repeated then.
    pub(super) fn begin(&self) -> Option<u64> {
        if self.survey.get().is_some() {
            self.is_late.set(true);
            return None;
        }
        self.surveys.set(self.surveys.get() + 1);
        self.survey.set(Some(self.surveys.get()));
        self.survey.get()
    }

    /// What the survey that begins is about, and which of it no tool is asked about.
    pub(super) fn begin_with(&self, keys: Vec<CallKey>, skipped: Vec<CallKey>) {
        self.surveyed.replace(keys);
        self.skipped.replace(skipped);
    }

    /// Whether a survey is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.survey.get().is_some()
    }

    /// Whether something has changed since the survey began that is under way.
    pub(super) fn is_late(&self) -> bool {
        self.is_late.get()
    }

    /// A survey has found out what a call would write; `None` if nobody wants to know any more. `is_final` says that nothing is
    /// going on that could change it.
    pub(super) fn put(&self, key: &CallKey, survey: u64, found: Found, is_final: bool) -> Option<News> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.get_mut(key).filter(|_| self.survey.get() == Some(survey))?;
        let is_news = match (&entry.found, &found) {
            (Some(Ok(before)), Ok(now)) => before.revision() != now.revision() || before.after != now.after,
            (Some(Err(before)), Err(now)) => before != now,
            _ => true,
        };
        if let Ok(ready) = &found {
            entry.followed = ready.followed();
            for (file, after) in ready.proposal.files.iter().zip(&ready.after) {
                if let Some(old) = file.old.as_ref().filter(|_| after.is_none()) {
                    entry.first.entry(file.path.clone()).or_insert_with(|| old.clone());
                }
            }
        }
        let is_first = (is_final || found.is_ok()) && self.arrived.borrow_mut().remove(key);
        entry.found = Some(found);
        Some(News { is_news, is_first, followed: entry.followed.clone() })
    }

    /// A survey is over: whether another one is needed.
    pub(super) fn end(&self, survey: u64) -> bool {
        if self.survey.get() != Some(survey) {
            return false;
        }
        self.survey.set(None);
        self.is_late.take()
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

    /// The user approves a call, in another form: what the files had at first, of which they may not have known.
    pub(super) fn keep_first(&self, key: &CallKey, ready: &Ready) {
        let entries = self.entries.borrow();
        let Some(entry) = entries.get(key) else { return };
        let files = ready.proposal.files.iter().filter_map(|file| {
            let first = entry.first.get(&file.path)?;
            let is_other = file.old.as_ref().is_none_or(|old| old.digest != first.digest);
            is_other.then(|| (file.path.clone(), first.clone()))
        });
        self.first.borrow_mut().insert(key.clone(), files.collect());
    }

    /// What the files of a call had at first, where that is something else than what the user was shown when they approved it.
    pub(super) fn take_first(&self, key: &CallKey) -> BTreeMap<PathBuf, Content> {
        self.first.borrow_mut().remove(key).unwrap_or_default()
    }

    /// What the user was shown last of a call; `None` if nothing was.
    pub(super) fn shown(&self, key: &CallKey) -> Option<Binding> {
        self.entries.borrow().get(key)?.shown.clone()
    }
}
