//! What is recorded of the calls of one conversation: the state of its journal, and what is on its way there.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use crate::generation::Generation;
use flemma_journal::{Asked, Binding, CallKey, Ending, Ledger, Life, Record};
use flemma_model::{CallId, UserError};

/// How far the journal is read. Nothing of it counts before it is read completely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    /// It has to be read.
    #[default]
    Needed,
    /// It is being read.
    Begun,
    /// It could not be read. The next attempt begins when somebody needs it.
    Failed,
    /// It was read.
    Done,
}

/// The right to resolve a call, which somebody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nobody else can resolve it until what is on its way is on the disk.
    Exclusive,
    /// An approval is on its way. The user may still reject the call.
    Approval,
    /// The user has rejected the call after that, maybe with words for the model. The approval does not count.
    Overruled(Option<String>),
}

/// The records of one conversation.
#[derive(Default)]
pub(crate) struct Records {
    ledger: RefCell<Ledger>,
    /// The records from before the conversation had a file, for the journal that it gets with one.
    unwritten: RefCell<Vec<Record>>,
    /// The files that it had before. Its records are in their journals until they are carried over.
    origins: RefCell<Vec<PathBuf>>,
    /// The file whose journal this is; empty for a conversation without one.
    path: RefCell<PathBuf>,
    reading: Cell<Reading>,
    /// Why it could not be read.
    problem: RefCell<Option<UserError>>,
    pub(crate) attempts: Generation,
    /// Calls whose resolution is on its way to the disk.
    resolving: RefCell<HashMap<CallId, Claim>>,
    /// How often the user has stopped everything.
    pub(crate) cancelled: Cell<u64>,
    /// Whether it was read before, so that what was recorded since has to be on the disk before it is read again.
    pub(crate) is_forgotten: Cell<bool>,
    /// Whether the journal is so long that it is worth being rewritten.
    pub(crate) is_long: Cell<bool>,
    /// When the file was last written, as of the latest reading of the journal, until somebody has used it.
    pub(crate) written: Cell<Option<Timestamp>>,
    /// The same, for as long as the conversation is open.
    pub(crate) found: Cell<Option<Timestamp>>,
    /// The lost calls that the user was told of.
    told: RefCell<Vec<String>>,
    /// The calls of which the user was told that their deadline has passed.
    pub(crate) late: RefCell<HashSet<CallId>>,
}

impl Records {
    /// Whether the journal was read.
    pub(crate) fn is_read(&self) -> bool {
        self.reading.get() == Reading::Done
    }

    /// Why the journal could not be read, if that was tried and is not being tried again.
    pub(crate) fn problem(&self) -> Option<UserError> {
        if self.reading.get() == Reading::Failed { self.problem.borrow().clone() } else { None }
    }

    /// The file whose journal this is; `None` for a conversation without one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let path = self.path.borrow();
        (!path.as_os_str().is_empty()).then(|| path.clone())
    }

    /// The conversation has this file from now on. If its journal has to be read, gives the number of the attempt, and the
    /// files that it had before.
    pub(crate) fn begin_reading(&self, path: &Path) -> Option<(u64, Vec<PathBuf>)> {
        let is_same = *self.path.borrow() == path;
        if is_same && matches!(self.reading.get(), Reading::Begun | Reading::Done) {
            return None;
        }
        let mut origins = self.origins.borrow_mut();
        if !is_same {
            let before = self.path();
            origins.retain(|origin| origin != path && Some(origin) != before.as_ref());
            origins.extend(before);
        }
        path.clone_into(&mut self.path.borrow_mut());
        let attempt = self.attempts.begin();
        let has_file = !path.as_os_str().is_empty();
        self.reading.set(if has_file { Reading::Begun } else { Reading::Done });
        has_file.then(|| (attempt, origins.clone()))
    }

    /// The journal could not be read. Says whether that is news.
    pub(crate) fn fail(&self, problem: UserError) -> bool {
        self.reading.set(Reading::Failed);
        let before = self.problem.replace(Some(problem));
        before != *self.problem.borrow()
    }

    /// The journal of the file was read, and those of the files before it. `is_long` says whether it should be shortened.
    /// Gives the records that it lacks.
    pub(crate) fn take(&self, read: Vec<Record>, before: Vec<Record>, is_long: bool) -> Vec<Record> {
        self.reading.set(Reading::Done);
        self.problem.take();
        self.is_long.set(is_long);
        self.origins.take();
        let path = self.path.borrow().to_string_lossy().into_owned();
        let unwritten = self.unwritten.take().into_iter();
        let unwritten = unwritten.map(|record| Record { conversation: path.clone(), ..record });
        let missing: Vec<Record> =
            before.into_iter().chain(unwritten).filter(|record| !read.contains(record)).collect();
        *self.ledger.borrow_mut() = Ledger::replay(read.into_iter().chain(missing.iter().cloned()));
        missing
    }

    /// Something was recorded.
    pub(crate) fn apply(&self, records: &[Record]) {
        let mut ledger = self.ledger.borrow_mut();
        records.iter().for_each(|record| ledger.apply(record));
        if self.path().is_none() {
            self.unwritten.borrow_mut().extend_from_slice(records);
        }
    }

    /// Whether another process has ended a call after the file was last written: the file may never have had it.
    pub(crate) fn is_lost(&self, key: &CallKey) -> bool {
        let is_later = |ending: &Ending| self.found.get().is_some_and(|found| found < ending.at);
        self.ending(key).is_some_and(|ending| ending.by.process != std::process::id() && is_later(&ending))
    }

    /// How the latest life of a call that has ended did.
    pub(crate) fn ending(&self, key: &CallKey) -> Option<Ending> {
        self.ledger.borrow().of(key).ending.clone()
    }

    /// The latest life of a call.
    pub(crate) fn life(&self, key: &CallKey) -> Life {
        self.ledger.borrow().of(key).life.clone()
    }

    /// Lends the state of all calls.
    pub(crate) fn with_ledger<R>(&self, look: impl FnOnce(&Ledger) -> R) -> R {
        look(&self.ledger.borrow())
    }

    /// Takes the right to resolve a call, which nobody has.
    pub(crate) fn claim(&self, call: &CallId, claim: Claim) {
        self.resolving.borrow_mut().insert(call.clone(), claim);
    }

    /// The user rejects a call. `false` if no approval of it is on its way.
    pub(crate) fn overrule(&self, call: &CallId, words: Option<&str>) -> bool {
        let mut resolving = self.resolving.borrow_mut();
        let claim = resolving.get_mut(call).filter(|claim| **claim != Claim::Exclusive);
        claim.map(|claim| *claim = Claim::Overruled(words.map(str::to_owned))).is_some()
    }

    /// Gives the right to resolve a call back.
    pub(crate) fn release(&self, call: &CallId) -> Option<Claim> {
        self.resolving.borrow_mut().remove(call)
    }

    /// Whether a resolution of a call is on its way.
    pub(crate) fn is_claimed(&self, call: &CallId) -> bool {
        self.resolving.borrow().contains_key(call)
    }

    /// The user stops everything: what is on its way to the disk must not start anything when it is there. Says whether
    /// anything is.
    pub(crate) fn cancel(&self) -> bool {
        self.cancelled.set(self.cancelled.get() + 1);
        self.is_under_way()
    }

    /// Whether a decision or a result is on its way to the disk.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.resolving.borrow().is_empty()
    }

    /// The journal has to be read again: another process has written to it.
    pub(crate) fn forget(&self) {
        self.reading.take();
        self.ledger.take();
        self.is_forgotten.set(true);
    }

    /// Whether the user was not told of these lost calls before.
    pub(crate) fn is_news(&self, lost: &[String]) -> bool {
        self.told.replace(lost.to_vec()) != lost
    }

    /// What the user has made of a call's change in a review in which they have decided nothing.
    pub(crate) fn made(&self, key: &CallKey) -> Option<Binding> {
        self.with_ledger(|ledger| ledger.of(key).made.clone())
    }

    /// Whether the tool of a call waits with what it wants to write, or did.
    pub(crate) fn has_proposed(&self, key: &CallKey) -> bool {
        self.with_ledger(|ledger| ledger.of(key).proposed.is_some())
    }

    /// Whether a call was ever started.
    pub(crate) fn has_begun(&self, key: &CallKey) -> bool {
        self.with_ledger(|ledger| match &ledger.of(key).life {
            Life::Unknown => false,
            Life::Open { started, .. } => started.is_some(),
            Life::Ended => ledger.of(key).ending.as_ref().is_some_and(|ending| ending.started.is_some()),
        })
    }

    /// What a call was recorded to ask for.
    pub(crate) fn asked(&self, key: &CallKey) -> Option<Asked> {
        self.with_ledger(|ledger| ledger.of(key).asked.clone())
    }
}
