//! What the editor asks about folds, text objects and the motions between calls that wait.

use std::ops::Range;

use super::{Conversation, Workspace};
use flemma_chat as chat;
use flemma_chat::{FoldGroup, Hidden, Object, Selection};

impl Conversation {
    /// The number of lines that are parsed.
    #[must_use]
    pub fn parsed(&self) -> usize {
        self.page().parsed()
    }

    /// The folds of the messages in these lines, as far as they are parsed.
    #[must_use]
    pub fn folds(&self, lines: Range<usize>) -> Vec<FoldGroup> {
        self.page().folds(lines, self.is_busy())
    }

    /// The cards of the blocks in these lines, as far as they are parsed.
    #[must_use]
    pub fn hidden(&self, lines: Range<usize>) -> Vec<Hidden> {
        self.page().with_parsed(|document, text| chat::hidden(document, lines, text))
    }

    /// The lines whose folds and cards may have changed since this was last asked; `None` if none have.
    #[must_use]
    pub fn take_stale_folds(&self) -> Option<Range<usize>> {
        self.page().take_stale_folds()
    }

    /// The lines of messages: see [`chat::message_object`].
    #[must_use]
    pub fn message_object(&self, selection: &Selection) -> Option<Object> {
        self.page().message_object(selection)
    }

    /// The lines of a tool card: see [`chat::card_object`].
    #[must_use]
    pub fn card_object(&self, selection: &Selection) -> Option<Object> {
        self.page().card_object(selection)
    }
}

impl Workspace {
    /// The line of the `count`th call that waits after or before `line`, or of the last one in that direction.
    #[must_use]
    pub fn waiting_from(&self, buffer: i32, line: usize, is_forward: bool, count: usize) -> Option<usize> {
        let mut lines: Vec<usize> = self.pending_calls(Some(buffer)).into_iter().map(|call| call.line).collect();
        lines.retain(|at| if is_forward { *at > line } else { *at < line });
        lines.sort_unstable();
        if !is_forward {
            lines.reverse();
        }
        lines.get(count.max(1) - 1).or(lines.last()).copied()
    }
}
