//! A conversation whose calls the command line has resolved while nobody had it open. Who opens it next carries it on.

use crate::{Conversation, calls::Standing, drives::Drives};
use flemma_agent::{Choice, Input, UndoStep};
use flemma_chat::OpenCall;
use flemma_journal::Role;
use flemma_model::CallId;

impl Drives {
    /// What the command line has left to be done: to start calls that it approved, or to send a last result.
    pub(crate) fn left_to_do(&self, conversation: &Conversation) -> Option<Input> {
        let open = conversation.page.open_calls();
        if open.is_empty() {
            let calls = conversation.page.with_document(|document, text| document.calls().at_end(text));
            let is_left = conversation.records.with_ledger(|ledger| {
                let mut endings = calls.iter().filter_map(|id| ledger.last_ending(id));
                endings.any(|ending| ending.by.role == Role::CommandLine)
            });
            return is_left.then_some(Input::CarryOn);
        }
        let is_approved = |call: &&OpenCall| matches!(conversation.standing(call), Standing::Approved(by) if by.role == Role::CommandLine);
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
