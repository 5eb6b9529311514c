//! Writing to the buffer of a conversation.

use crate::{Conversation, page::Writing, shared::Shared};
use flemma_agent::Level;
use flemma_chat::TextEdit;

impl Shared {
    /// Makes these edits.
    pub(crate) fn write(&self, conversation: &Conversation, edits: &[TextEdit]) {
        self.write_as(conversation, Writing::Its, edits);
    }

    /// Makes these edits, of what Flemma writes or of what it writes in the user's name. Says whether that succeeded; if not, the user
    /// was told.
    pub(crate) fn write_as(&self, conversation: &Conversation, what: Writing, edits: &[TextEdit]) -> bool {
        conversation.page.write(what, || {
            let mut is_written = true;
            for edit in edits {
                let joins = conversation.page.joins();
                if let Err(problem) = self.host.write(conversation.buffer, edit, joins) {
                    self.notify(conversation, Level::Error, &format!("writing to the buffer failed: {problem}"));
                    is_written = false;
                }
            }
            is_written
        })
    }
}
