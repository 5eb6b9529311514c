//! The point from which a call changes files.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

/// The run may still be stopped, with nothing changed.
const OPEN: u8 = 0;
/// The run changes files, and its result says what it did.
const BEGUN: u8 = 1;
/// The run changes nothing, or nobody waits for its result any more.
const DROPPED: u8 = 2;

/// Decides whether a run changes files or is stopped before that, when both are wanted at the same moment. Clones are about the
/// same run.
#[derive(Clone, Debug, Default)]
pub struct Commitment(Arc<AtomicU8>);

impl Commitment {
    /// The run is about to change files. `false` if it was stopped: then it must change nothing.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.replace(OPEN, BEGUN).is_ok() || self.has_begun()
    }

    /// Stops the run before it changes files. `false` if it has begun to: then its result is the truth about it.
    #[must_use]
    pub fn prevent(&self) -> bool {
        self.replace(OPEN, DROPPED).is_ok() || self.is_dropped()
    }

    /// Nobody waits for the result any more. A run that has not begun to change files changes none.
    pub fn abandon(&self) {
        self.0.store(DROPPED, Ordering::SeqCst);
    }

    /// Whether the run has begun to change files, and somebody waits for its result.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst) == BEGUN
    }

    /// Whether nobody waits for the result.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.0.load(Ordering::SeqCst) == DROPPED
    }

    fn replace(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.0.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
    }
}
