//! A file that was opened: what the journal knows of its calls is brought together with what the file says.

use super::{Conversation, ResolveError, Workspace, standing::Standing};
use crate::{
    agent::{Input, Level},
    chat::{AwaitKind, OpenCall, Status},
    journal::CallKey,
    model::CallId,
};

impl Workspace {
    /// Parses the next lines of a file that was just opened; says whether there are more. After the last of them the
    /// conversation is brought together with its journal.
    pub fn parse_on(&self, buffer: i32) -> bool {
        let Some(conversation) = self.conversation(buffer) else { return false };
        let more = conversation.parse_on();
        if !more {
            self.recover(&conversation);
        }
        more
    }

    /// Whether everything is known of a buffer that its calls depend on: its text, its journal, who holds it.
    #[must_use]
    pub fn is_settled(&self, buffer: i32) -> bool {
        self.conversation(buffer).is_some_and(|conversation| {
            let holding = conversation.holding();
            let is_held_known = conversation.is_held_here() || holding.other().is_some();
            conversation.is_complete() && conversation.records().is_read() && is_held_known && self.toolbox().is_ready()
        })
    }

    /// Brings a conversation and its journal together, once both are read and no other process holds the conversation.
    pub(super) fn recover(&self, conversation: &Conversation) {
        let is_ready = conversation.is_complete() && conversation.records().is_read();
        if !is_ready || conversation.is_busy() || self.check_held(conversation).is_err() {
            return;
        }
        let calls = conversation.page().open_calls();
        let known: Vec<CallId> =
            calls.iter().filter(|call| self.needs_recovery(conversation, call)).map(|call| call.id.clone()).collect();
        if !known.is_empty() {
            self.feed(conversation, [Input::Recover(known)]);
            self.came_to_rest(conversation);
        }
        self.report_lost(conversation, &calls);
        self.shorten_journal(conversation);
        self.watch_deadlines(conversation, true);
    }

    /// Whether the journal says something of a call that its block does not.
    fn needs_recovery(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        match self.standing(conversation, call) {
            Standing::Ended(_) => true,
            Standing::Interrupted => {
                let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
                let is_offered = call.awaiting().is_some_and(|awaiting| awaiting.kind == AwaitKind::ClientExec);
                status.is_none() || is_offered || matches!(status, Some(Status::Running | Status::Approved))
            }
            Standing::New | Standing::Approved(_) => false,
        }
    }

    /// Tells of calls that were started and that the file knows nothing of: it was not written in time.
    fn report_lost(&self, conversation: &Conversation, calls: &[OpenCall]) {
        let here: Vec<CallKey> = calls.iter().map(|call| CallKey::of(&call.id, &call.name, &call.input)).collect();
        let lost: Vec<String> = conversation.records().with_ledger(|ledger| {
            let unfinished = ledger.unfinished().filter(|(key, _)| !here.contains(key));
            unfinished
                .filter(|(key, _)| conversation.page().answered(key) == ledger.endings(key))
                .map(|(key, at)| format!("`{}` ({}, {at})", key.tool, key.id))
                .collect()
        });
        if !lost.is_empty() && conversation.records().is_news(&lost) {
            self.warn(&format!(
                "the editor ended while tools were running, before their calls were written to this file. It is not known \
                 whether they had an effect: {}",
                lost.join(", ")
            ));
        }
    }

    /// Whether this process may resolve and run calls of a conversation.
    ///
    /// # Errors
    /// Who holds it.
    pub(super) fn check_held(&self, conversation: &Conversation) -> Result<(), ResolveError> {
        let holding = conversation.holding();
        match holding.other() {
            Some(other) => Err(ResolveError::Held(other.message(&holding.name()))),
            None if conversation.is_held_here() => Ok(()),
            None => Err(ResolveError::Held(
                "it is not known yet whether another process holds this conversation".to_owned(),
            )),
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

    /// Carries out what the user wants, after it is recorded.
    pub(super) fn perform(&self, conversation: &Conversation, input: Input) {
        match input {
            Input::Decide(calls, choice, step) => self.decide(conversation, calls, &choice, step),
            Input::Execute(call) => self.execute_call(conversation, call),
            Input::Advance => self.go_on_as_written(conversation, Input::Advance),
            input => self.feed(conversation, [input]),
        }
    }

    /// Runs the call under the cursor, or opens its form.
    fn execute_call(&self, conversation: &Conversation, id: CallId) {
        let calls = conversation.page().open_calls();
        let Some(call) = calls.iter().rfind(|call| call.id == id) else {
            return self.feed(conversation, [Input::Execute(id)]);
        };
        let has_text = call.placeholder.as_ref().is_some_and(|placeholder| !placeholder.content.is_empty());
        match (self.effective_kind(conversation, call), call.awaiting()) {
            (AwaitKind::Elicitation, Some(awaiting)) if !has_text => {
                if awaiting.is_over(self.host().now()) {
                    return self.expire_call(conversation, call);
                }
                if let Err(error) = self.check_held(conversation) {
                    return self.host().notify(Level::Info, &error.to_string());
                }
                self.host().open_form(conversation.buffer(), &id);
            }
            (AwaitKind::ClientExec, Some(_)) => {
                self.host().notify(Level::Info, "this call is being run by the editor; `:Flemma tool:reject` stops it");
            }
            _ => self.go_on_as_written(conversation, Input::Execute(id)),
        }
    }
}
