//! A conversation whose calls the command line has resolved while nobody had it open. Who opens it next carries it on.

use super::{Conversation, Workspace};
use crate::{
    agent::Input,
    chat::OpenCall,
    journal::{CallKey, Life, Role},
};

impl Workspace {
    /// Carries a conversation on that was just opened, if a decision or an answer of the command line has not had its effect
    /// yet. It takes the way of a key, so what the file brings has to be trusted first.
    pub(super) fn revive(&self, conversation: &Conversation) {
        let is_first = !conversation.is_revived().replace(true);
        if !is_first || !self.host().carries_on() || conversation.is_busy() || !self.is_left(conversation) {
            return;
        }
        // Without autopilot, each step is the user's. What the file says of it may not be trusted yet, but that is asked first.
        if self.frontmatter(conversation).config.tools.autopilot.enabled {
            self.want_alone(conversation, Input::Advance.into());
        }
    }

    /// Whether the command line has left something to do: a call that it approved and nobody has started, or a last result that
    /// nobody has sent.
    fn is_left(&self, conversation: &Conversation) -> bool {
        let open = conversation.page().open_calls();
        let is_approved = |call: &OpenCall| {
            let life = conversation.records().life(&CallKey::of(&call.id, &call.name, &call.input));
            matches!(life, Life::Open { approved: Some(by), started: None } if by.role == Role::CommandLine)
        };
        if !open.is_empty() {
            return open.iter().any(is_approved);
        }
        let calls = conversation.page().calls_at_end();
        conversation.records().with_ledger(|ledger| {
            let mut endings = calls.iter().filter_map(|id| ledger.last_ending(id));
            endings.any(|ending| ending.by.role == Role::CommandLine)
        })
    }
}
