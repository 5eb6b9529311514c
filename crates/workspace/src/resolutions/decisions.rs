//! What a key or a command decides about calls: to carry the conversation on, to run one call, to approve or reject several.

use crate::{
    Conversation,
    calls::Standing,
    resolutions::{Prepared, Resolution, Resolutions, ResolveError, stale::Stale},
};
use flemma_agent::{Choice, Input, Level, UndoStep};
use flemma_chat::{AwaitKind, OpenCall};
use flemma_journal::Role;
use flemma_model::CallId;

/// What the user is told whose key comes before another one has its effect.
pub(crate) const BEING_RECORDED: &str = "a decision is being written to the disk; it takes effect when it is there";

impl Resolutions {
    /// Decides about several calls at once, for a key or a command.
    pub(crate) fn decide(&self, conversation: &Conversation, calls: Vec<CallId>, choice: &Choice, step: UndoStep) {
        if conversation.session.has_request() || self.calls.is_at_fault(conversation) {
            // The agent says why not.
            return self.shared.feed(conversation, [Input::Decide(calls, choice.clone(), step)]);
        }
        let open = calls.iter().filter_map(|id| conversation.page.open_call(id));
        let is_over = |call: &OpenCall| matches!(conversation.standing(call), Standing::Ended(_));
        let over: Vec<CallId> = open.filter(is_over).map(|call| call.id).collect();
        if !over.is_empty() {
            // They were undone: their results are restored.
            return self.shared.feed(conversation, [Input::Recover(over)]);
        }
        let resolution = || match choice {
            Choice::Approve => Resolution::Approve,
            Choice::Reject(words) => Resolution::Reject(words.clone()),
        };
        let mut free = self.calls.free_slots(conversation);
        let (mut prepared, mut refused, mut is_overruling) = (Vec::new(), None, false);
        for call in &calls {
            if let Choice::Reject(words) = choice
                && conversation.records.overrule(call, words.as_deref())
            {
                // It is rejected when the approval is on the disk.
                is_overruling = true;
                continue;
            }
            match self.prepare(conversation, call, resolution(), Role::User, free) {
                Ok(ready) => {
                    free = free.saturating_sub(usize::from(ready.starts));
                    prepared.push(ready);
                }
                Err(error) if matches!(error, ResolveError::Invalid(_)) || refused.is_none() => {
                    refused = Some((call.clone(), error));
                }
                Err(_) => {}
            }
        }
        // What cannot be decided in this way is passed over among others that can, but not what is refused.
        let is_said = |error: &ResolveError| match error {
            ResolveError::Invalid(_) => true,
            _ => prepared.is_empty() && !is_overruling,
        };
        if let Some((call, error)) = refused.filter(|(_, error)| is_said(error)) {
            self.explain(conversation, &call, &error);
        }
        if prepared.is_empty() {
            return;
        }
        let records = prepared.iter().flat_map(|prepared| prepared.records.clone()).collect();
        let choice = choice.clone();
        self.journaling.commit((self, &self.background), conversation, records, move |this, conversation, written| {
            // What waits for approval is decided together; the others are answered one by one.
            let is_decision = |prepared: &Prepared| matches!(prepared.input, Input::Decide(..));
            let (decided, mut others): (Vec<_>, Vec<_>) = prepared.into_iter().partition(is_decision);
            let ids = decided.iter().map(|prepared| prepared.call.id.clone()).collect();
            let together = Some(Input::Decide(ids, choice, step));
            let mut resolved = Ok(());
            if !decided.is_empty() {
                resolved = this.apply(conversation, decided, together, written.clone());
            }
            for other in others.drain(..) {
                resolved = resolved.and(this.apply(conversation, vec![other], None, written.clone()));
            }
            // The user knows that they have stopped everything.
            if let Err(error) =
                resolved.or_else(|error| if matches!(error, ResolveError::Stale(_)) { Ok(()) } else { Err(error) })
            {
                this.shared.host.notify(Level::Error, &error.to_string());
            }
        });
    }

    /// Says why a key had no effect.
    fn explain(&self, conversation: &Conversation, id: &CallId, error: &ResolveError) {
        if matches!(error, ResolveError::Late(_)) {
            return;
        }
        let open = conversation.page.open_call(id);
        let kind = open.map(|call| self.calls.effective_kind(conversation, &call));
        let message = match (error, kind) {
            (ResolveError::Stale(Stale::Busy), _) if conversation.records.is_claimed(id) => BEING_RECORDED.to_owned(),
            (ResolveError::Stale(_), Some(AwaitKind::Elicitation)) => {
                "this call asks you a question; press Alt-Enter for the form, or write the answer in its block"
                    .to_owned()
            }
            (ResolveError::Stale(_), Some(AwaitKind::ClientExec)) => "this call is being run by the editor".to_owned(),
            (ResolveError::Stale(_), _) => "no pending call is selected".to_owned(),
            (error, _) => error.to_string(),
        };
        self.shared.host.notify(Level::Info, &message);
    }
}
