//! What the journal says of a call in the document.

use super::{Conversation, Workspace, journaling::restored};
use crate::{
    agent::CallResult,
    chat::OpenCall,
    journal::{Actor, CallKey, Life},
};

/// What is known of an open call from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing that counts.
    New,
    /// It was approved, and has not started.
    Approved(Actor),
    /// It was started, and nobody knows whether it has ended.
    Interrupted,
    /// It has ended: the document lacks the result.
    Ended(CallResult),
}

impl Workspace {
    /// What the journal says of an open call.
    pub(super) fn standing(&self, conversation: &Conversation, call: &OpenCall) -> Standing {
        let key = CallKey::of(&call.id, &call.name, &call.input);
        let records = conversation.records();
        match records.life(&key) {
            Life::Unknown => Standing::New,
            Life::Open { started: None, approved: Some(actor) } => Standing::Approved(actor),
            Life::Open { approved: Some(actor), .. } if records.may_start(&key) => Standing::Approved(actor),
            Life::Open { started: Some(_), .. } if !conversation.is_at_work_on(&call.id) => Standing::Interrupted,
            Life::Open { .. } => Standing::New,
            Life::Ended => {
                // Vendors reuse ids: the life that has ended may be that of an earlier call, which has its result.
                let answered = conversation.page().answered(&key);
                records.with_ledger(|ledger| match ledger.last_result(&key) {
                    Some(result) if ledger.endings(&key) > answered => Standing::Ended(restored(result)),
                    _ => Standing::New,
                })
            }
        }
    }

    /// Whether a call was started and it is not known whether it has ended.
    pub(super) fn is_interrupted(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        self.standing(conversation, call) == Standing::Interrupted
    }

    /// Whether the status in the block of a call counts: the user or a policy of theirs has written it in this session, or
    /// the user's journal has the decision.
    pub(super) fn counts(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        conversation.page().is_authorised(call) || matches!(self.standing(conversation, call), Standing::Approved(_))
    }
}

impl Conversation {
    /// Whether a call runs here now, is about to, or is being run by the editor's user interface.
    pub(super) fn is_at_work_on(&self, call: &crate::model::CallId) -> bool {
        self.session().is_working_on(call) || self.tasks().is_running(call)
    }
}
