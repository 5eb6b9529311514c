//! The point from which a call changes files.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

/// The run may still be stopped, with nothing changed.
const OPEN: u8 = 0;
/// The run changes files, and its result says what it did.
const BEGUN: u8 = 1;
/// The run changes nothing any more. Its result is waited for.
const BARRED: u8 = 2;
/// The run changes nothing any more, and nobody waits for its result.
const DROPPED: u8 = 3;

/// Decides whether a run changes files or is stopped before that, when both are wanted at the same moment. Clones are about the
/// same run.
#[derive(Clone, Debug, Default)]
pub struct Commitment(Arc<AtomicU8>);

impl Commitment {
    /// The run is about to change files. `false` if it was stopped: then it must change nothing.
    pub fn begin(&self) -> bool {
        self.replace(OPEN, BEGUN).is_ok() || self.has_begun()
    }

    /// Takes from the run the right to begin to change files. `false` if it has begun to.
    pub fn bar(&self) -> bool {
        let _ = self.replace(OPEN, BARRED);
        !self.has_begun()
    }

    /// Drops the run, unless it has begun to change files: then `false`, and its result is the truth about it.
    pub fn drop_unless_begun(&self) -> bool {
        let _ = self.replace(OPEN, DROPPED).or_else(|_| self.replace(BARRED, DROPPED));
        self.is_dropped()
    }

    /// Nobody waits for the result any more. A run that has not begun to change files changes none.
    pub fn abandon(&self) {
        self.0.store(DROPPED, Ordering::SeqCst);
    }

    /// Whether the run has begun to change files, and somebody waits for its result.
    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst) == BEGUN
    }

    /// Whether nobody waits for the result.
    pub fn is_dropped(&self) -> bool {
        self.0.load(Ordering::SeqCst) == DROPPED
    }

    /// Whether both are about the same run.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn replace(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.0.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
    }
}
