//! Numbers for what comes one after another: a timer that is set anew, a file that is read anew, the runs of tools.

use std::cell::Cell;

/// Numbers what comes one after another, and tells the latest from those before it.
#[derive(Debug, Default)]
pub(crate) struct Generation(Cell<u64>);

impl Generation {
    /// Another one begins, and takes the place of all before it. Gives its number, from 1.
    pub(crate) fn begin(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    /// The number of the latest one.
    pub(crate) fn current(&self) -> u64 {
        self.0.get()
    }

    /// Whether this is the latest one.
    pub(crate) fn is_current(&self, number: u64) -> bool {
        self.0.get() == number
    }
}
