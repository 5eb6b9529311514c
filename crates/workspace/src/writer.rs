//! Writing to the buffer of a conversation.

use crate::{Conversation, page::Writing, shared::Shared};
use flemma_agent::Level;
use flemma_chat::TextEdit;

/// The pen of a conversation.
pub(crate) struct Writer<'a> {
    shared: &'a Shared,
    conversation: &'a Conversation,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(shared: &'a Shared, conversation: &'a Conversation) -> Self {
        Self { shared, conversation }
    }

    /// Makes these edits.
    pub(crate) fn apply(&self, edits: &[TextEdit]) {
        self.conversation.page.write(Writing::Its, || self.write(edits));
    }

    /// Makes these edits in the user's name. Says whether that succeeded.
    pub(crate) fn apply_own(&self, edits: &[TextEdit]) -> bool {
        self.conversation.page.write(Writing::Theirs, || self.write(edits))
    }

    /// Writes to the buffer. Says whether that succeeded; if not, the user was told.
    fn write(&self, edits: &[TextEdit]) -> bool {
        let mut is_written = true;
        for edit in edits {
            let joins = self.conversation.page.joins();
            if let Err(problem) = self.shared.host.write(self.conversation.buffer(), edit, joins) {
                let message = format!("writing to the buffer failed: {problem}");
                self.shared.notify(self.conversation, Level::Error, &message);
                is_written = false;
            }
        }
        is_written
    }
}
