//! The latest of several attempts: a timer that was set anew, a file that is read anew.

use std::cell::Cell;

/// Tells the latest of several attempts from those before it.
#[derive(Debug, Default)]
pub(crate) struct Generation(Cell<u64>);

impl Generation {
    /// A new attempt takes the place of all before it. Gives its number.
    pub(crate) fn begin(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    /// The number of the latest attempt.
    pub(crate) fn current(&self) -> u64 {
        self.0.get()
    }

    /// Whether this is the latest attempt.
    pub(crate) fn is_current(&self, number: u64) -> bool {
        self.0.get() == number
    }
}
