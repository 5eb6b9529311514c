//! A conversation whose calls the command line has resolved while nobody had it open. Who opens it next carries it on.

use super::{Conversation, Workspace, standing::Standing};
use flemma_agent::{Choice, Input, UndoStep};
use flemma_chat::OpenCall;
use flemma_journal::Role;
use flemma_model::CallId;

impl Workspace {
    /// Carries a conversation on that was just opened, if a decision or an answer of the command line has not had its effect
    /// yet. It takes the way of a key, so what the file brings has to be trusted first.
    pub(super) fn revive(&self, conversation: &Conversation) {
        let is_first = !conversation.is_revived().replace(true);
        if !is_first || !self.host().carries_on() || conversation.is_busy() || conversation.drive().is_on() {
            return;
        }
        let Some(input) = self.left_to_do(conversation) else { return };
        // Without autopilot, each step is the user's. What the file says of it may not be trusted yet, but that is asked first.
        if self.frontmatter(conversation).config.tools.autopilot.enabled {
            self.want_alone(conversation, input.into());
        }
    }

    /// What the command line has left to be done: to start calls that it approved, or to send a last result.
    pub(super) fn left_to_do(&self, conversation: &Conversation) -> Option<Input> {
        let open = conversation.page().open_calls();
        if open.is_empty() {
            let calls = conversation.page().calls_at_end();
            let is_left = conversation.records().with_ledger(|ledger| {
                let mut endings = calls.iter().filter_map(|id| ledger.last_ending(id));
                endings.any(|ending| ending.by.role == Role::CommandLine)
            });
            return is_left.then_some(Input::CarryOn);
        }
        let is_approved = |call: &&OpenCall| matches!(self.standing(conversation, call), Standing::Approved(by) if by.role == Role::CommandLine);
        let approved: Vec<&OpenCall> = open.iter().filter(is_approved).collect();
        // The file may not have got the decision.
        let pending = approved.iter().filter(|call| call.awaiting().is_some()).map(|call| call.id.clone());
        let pending: Vec<CallId> = pending.collect();
        match (approved.is_empty(), pending.is_empty()) {
            (true, _) => None,
            (false, true) => Some(Input::CarryOn),
            (false, false) => Some(Input::Decide(pending, Choice::Approve, UndoStep::Own)),
        }
    }
}
