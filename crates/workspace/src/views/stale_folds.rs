//! The lines whose folds and cards the editor has not been told of since they changed.

use std::{cell::Cell, ops::Range};

use flemma_chat::{Change, Update};

/// The lines whose folds and cards may have changed.
#[derive(Debug, Default)]
pub(crate) struct StaleFolds(Cell<Option<(usize, usize)>>);

impl StaleFolds {
    /// The text has changed. Neovim moves folds by itself where lines are only replaced one by one.
    pub(crate) fn changed(&self, change: Change, update: &Update) {
        let moved = |line: usize| {
            if line < change.old_last { line.min(change.new_last) } else { line - change.old_last + change.new_last }
        };
        let before = self.0.get().map(|(first, last)| (moved(first).min(first), moved(last)));
        self.0.set(before);
        let is_one = change.old_last == change.first + 1 && change.new_last == change.old_last;
        if !is_one || update.tools || update.lines.len() > 1 {
            self.extend(change.first.min(update.lines.start)..change.new_last.max(update.lines.end));
        }
    }

    /// These lines are looked at as well.
    pub(crate) fn extend(&self, lines: Range<usize>) {
        let (first, last) = self.0.get().unwrap_or((lines.start, lines.end));
        self.0.set(Some((first.min(lines.start), last.max(lines.end))));
    }

    /// The lines, with one more at each end.
    pub(crate) fn take(&self) -> Option<Range<usize>> {
        let (first, last) = self.0.take()?;
        Some(first.saturating_sub(1)..last + 1)
    }

    /// The whole text was replaced.
    pub(crate) fn forget(&self) {
        self.0.take();
    }
}
