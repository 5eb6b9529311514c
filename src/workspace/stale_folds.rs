//! The lines whose folds the editor has not been told of since they changed.

use std::{cell::Cell, ops::Range};

use crate::chat::{Change, Update};

/// The lines whose folds may have changed.
#[derive(Debug, Default)]
pub(super) struct StaleFolds {
    /// The lines, and whether the folds of their whole turns may have changed.
    stale: Cell<Option<(usize, usize, bool)>>,
}

impl StaleFolds {
    /// The text has changed. Neovim moves folds by itself where lines are only replaced one by one.
    pub(super) fn changed(&self, change: Change, update: &Update) {
        let moved = |line: usize| {
            if line < change.old_last { line.min(change.new_last) } else { line - change.old_last + change.new_last }
        };
        let before = self.stale.get().map(|(first, last, tools)| (moved(first).min(first), moved(last), tools));
        let is_one = change.old_last == change.first + 1 && change.new_last == change.old_last;
        if is_one && !update.tools && update.lines.len() <= 1 {
            self.stale.set(before);
            return;
        }
        let (first, last) = (change.first.min(update.lines.start), change.new_last.max(update.lines.end));
        self.stale.set(Some(match before {
            Some((old_first, old_last, tools)) => (old_first.min(first), old_last.max(last), tools || update.tools),
            None => (first, last, update.tools),
        }));
    }

    /// The folds of the message with this line are looked at again.
    pub(super) fn touch(&self, line: usize) {
        let before = self.stale.get().unwrap_or((line, line, false));
        self.stale.set(Some((before.0.min(line), before.1.max(line), true)));
    }

    /// The lines, with one more at each end, and whether the folds of their whole turns may have changed.
    pub(super) fn take(&self) -> Option<(Range<usize>, bool)> {
        let (first, last, tools) = self.stale.take()?;
        Some((first.saturating_sub(1)..last + 1, tools))
    }

    /// The whole text was replaced.
    pub(super) fn forget(&self) {
        self.stale.take();
    }
}
