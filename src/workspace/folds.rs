//! What the editor asks about folds, text objects and the motions between calls that wait.

use std::{ops::Range, time::Duration};

use super::{Conversation, Workspace};
use crate::{
    chat::{Begins, Extent, FoldGroup, FoldKind, Object},
    model::CallId,
};

/// How long a call runs before its result is shown open. Most calls are over by then, and the text does not move twice for them.
const BRIEF: Duration = Duration::from_millis(200);

impl Conversation {
    /// The number of lines that are parsed.
    #[must_use]
    pub fn parsed(&self) -> usize {
        self.page().parsed()
    }

    /// The folds of the messages in these lines, as far as they are parsed.
    #[must_use]
    pub fn folds(&self, lines: Range<usize>) -> Vec<FoldGroup> {
        let mut groups = self.page().folds(lines, self.is_busy());
        if self.tasks().has_tools() {
            let results = groups.iter_mut().flat_map(|group| &mut group.inner);
            for fold in results.filter(|fold| fold.kind == FoldKind::ToolResult && fold.begins == Begins::Open) {
                let call = self.page().call_at(fold.lines.start);
                if call.is_some_and(|call| self.tasks().is_running(&call) && self.tasks().elapsed(&call) < BRIEF) {
                    fold.begins = Begins::Brief;
                }
            }
        }
        groups
    }

    /// The lines whose folds may have changed since this was last asked; `None` if none have.
    #[must_use]
    pub fn take_stale_folds(&self) -> Option<Range<usize>> {
        self.page().take_stale_folds()
    }

    /// The conversation has come to rest: the last message is complete.
    pub fn refold(&self) {
        self.page().refold();
    }

    /// The lines of `count` messages from `at` on: see [`crate::chat::Document::message_object`].
    #[must_use]
    pub fn message_object(&self, at: &Range<usize>, is_selected: bool, extent: Extent, count: usize) -> Option<Object> {
        self.page().message_object(at, is_selected, extent, count)
    }

    /// The lines of a tool card: see [`crate::chat::Document::card_object`].
    #[must_use]
    pub fn card_object(&self, at: &Range<usize>, is_selected: bool, extent: Extent, count: usize) -> Option<Object> {
        self.page().card_object(at, is_selected, extent, count)
    }
}

impl Workspace {
    /// Shows a call open if it still runs in a while.
    pub(super) fn unfold_if_slow(&self, conversation: &Conversation, call: &CallId) {
        let (mailbox, id, call) = (self.background().mailbox().clone(), conversation.id(), call.clone());
        let look = move || {
            mailbox.job_for(id, move |workspace: &Self, conversation| {
                if !conversation.tasks().is_running(&call) {
                    return;
                }
                if conversation.tasks().elapsed(&call) < BRIEF {
                    // Its start was not on the disk at once.
                    return workspace.unfold_if_slow(conversation, &call);
                }
                if let Some(line) = conversation.page().result_line(&call) {
                    conversation.page().touch_folds(line);
                    workspace.host().refold(conversation.buffer());
                }
            });
        };
        let _ = self.background().worker().later(BRIEF, look);
    }

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
