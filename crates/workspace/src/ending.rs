//! What the user knows of the end that the latest turn of a conversation came to.

use std::cell::Cell;

use flemma_agent::Level;

/// What the user knows of the end that a turn came to.
#[derive(Debug, Default)]
pub(crate) struct TurnEnding(Cell<Option<Known>>);

/// What a user knows of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A message said that something is wrong.
    Told,
    /// They have stopped it themselves.
    Cancelled,
}

impl TurnEnding {
    /// What they know; `None` if nobody told them anything.
    pub(crate) fn known(&self) -> Option<Known> {
        self.0.get()
    }

    /// Something begins, whose end nobody knows yet.
    pub(crate) fn begin(&self) {
        self.0.set(None);
    }

    /// The user was told something.
    pub(crate) fn told(&self, level: Level) {
        if level != Level::Info && self.0.get().is_none() {
            self.0.set(Some(Known::Told));
        }
    }

    /// The user stops everything.
    pub(crate) fn cancel(&self) {
        self.0.set(Some(Known::Cancelled));
    }
}
