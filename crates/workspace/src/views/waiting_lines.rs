//! What the editor asks about folds, text objects and the motions between calls that wait.

use std::ops::Range;

use crate::{Conversation, lists::Lists};
use flemma_chat::FoldGroup;

impl Conversation {
    /// The folds of the messages in these lines, as far as they are parsed.
    #[must_use]
    pub fn folds(&self, lines: Range<usize>) -> Vec<FoldGroup> {
        self.page.folds(lines, self.is_busy())
    }
}

impl Lists {
    /// The line of the `count`th call that waits after or before `line`, or of the last one in that direction.
    #[must_use]
    pub fn waiting_from(&self, buffer: i32, line: usize, is_forward: bool, count: usize) -> Option<usize> {
        let mut lines: Vec<usize> = self.calls.pending_calls(Some(buffer)).into_iter().map(|call| call.line).collect();
        lines.retain(|at| if is_forward { *at > line } else { *at < line });
        lines.sort_unstable();
        if !is_forward {
            lines.reverse();
        }
        lines.get(count.max(1) - 1).or(lines.last()).copied()
    }
}
