//! Records that were not written, for as long as somebody may not know of it.
//!
//! Who appends two records of a call one after another relies on their order: a start is worth nothing without the
//! approval before it. So if a record is lost, the records of the same call that were appended before anybody could hear
//! of the loss are refused too. Later ones are a new attempt.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use flemma_journal::CallKey;

/// An error that several appends have in common.
pub(super) type Failure = Arc<io::Error>;

/// What went wrong with a file.
pub(super) fn named(file: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}

/// The calls of which a record was lost.
#[derive(Default)]
pub(super) struct Lost(HashMap<(PathBuf, CallKey), Loss>);

struct Loss {
    failure: Failure,
    /// The last append that was sent before the loss was answered; `None` until then.
    until: Option<u64>,
}

impl Lost {
    /// Why an append has to be refused.
    pub(super) fn before(&self, number: u64, file: &Path, keys: &HashSet<CallKey>) -> Option<Failure> {
        if self.0.is_empty() {
            return None;
        }
        let losses = keys.iter().filter_map(|key| self.0.get(&(file.to_owned(), key.clone())));
        losses.filter(|loss| loss.affects(number)).map(|loss| loss.failure.clone()).next()
    }

    /// Records of these calls were lost with this append.
    pub(super) fn insert(&mut self, number: u64, file: &Path, keys: &HashSet<CallKey>, failure: &Failure) {
        for key in keys {
            let call = (file.to_owned(), key.clone());
            // Who hears of the first of several losses in a row knows enough.
            if !self.0.get(&call).is_some_and(|loss| loss.affects(number)) {
                self.0.insert(call, Loss { failure: failure.clone(), until: None });
            }
        }
    }

    /// The loss of records of these calls is about to be answered. `sent` is the latest append that was sent.
    pub(super) fn answered(&mut self, file: &Path, keys: &HashSet<CallKey>, sent: u64) {
        for key in keys {
            if let Some(loss) = self.0.get_mut(&(file.to_owned(), key.clone())) {
                loss.until = loss.until.or(Some(sent));
            }
        }
    }

    /// Forgets what affects no append after `performed`, the latest one that was performed.
    pub(super) fn forget(&mut self, performed: u64) {
        self.0.retain(|_, loss| loss.affects(performed + 1));
    }
}

impl Loss {
    fn affects(&self, number: u64) -> bool {
        self.until.is_none_or(|until| number <= until)
    }
}
