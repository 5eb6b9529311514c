//! What a key or a command decides about calls: to carry the conversation on, to run one call, to approve or reject several.

use super::{
    Conversation, HostEffect, Workspace,
    call_key::Keyed as _,
    resolution::{Prepared, Resolution, ResolveError},
    stale::Stale,
    standing::Standing,
};
use flemma_agent::{Choice, Input, Level, UndoStep};
use flemma_chat::{AwaitKind, OpenCall, Severity};
use flemma_journal::{CallKey, Decision, Event, Role};
use flemma_model::{CallId, ToolInput};
use flemma_tools::JsonFault;

/// What the user is told whose key comes before another one has its effect.
pub(super) const BEING_RECORDED: &str = "a decision is being written to the disk; it takes effect when it is there";

impl Workspace {
    /// Carries out what the user wants, after it is recorded.
    pub(super) fn perform(&self, conversation: &Conversation, input: Input) {
        match input {
            Input::Decide(calls, choice, step) => self.decide(conversation, calls, &choice, step),
            Input::Execute(call) => self.execute_call(conversation, call),
            Input::Advance | Input::CarryOn => {
                self.drop_cut_off(conversation);
                self.go_on_as_written(conversation, input);
            }
            input => self.feed(conversation, [input]),
        }
    }

    /// Runs the call under the cursor, or opens its form.
    fn execute_call(&self, conversation: &Conversation, id: CallId) {
        let Some(call) = &conversation.page().open_call(&id) else {
            return self.feed(conversation, [Input::Execute(id)]);
        };
        if matches!(self.standing(conversation, call), Standing::Ended(_)) {
            // It was undone: its result is restored.
            return self.feed(conversation, [Input::Recover(vec![id])]);
        }
        let has_text = call.placeholder.as_ref().is_some_and(|placeholder| !placeholder.content.is_empty());
        match (self.effective_kind(conversation, call), call.awaiting()) {
            (AwaitKind::Elicitation, Some(awaiting)) if !has_text => {
                if awaiting.is_over(self.host().now()) {
                    return self.expire_by_key(conversation, call);
                }
                if let Err(error) = self.check_held(conversation) {
                    return self.host().notify(Level::Info, &error.to_string());
                }
                if let ToolInput::Malformed(input) = &*call.input {
                    return self.explain_input(conversation, call, input);
                }
                self.host().perform(HostEffect::OpenForm { buffer: conversation.buffer(), call: &id });
            }
            (AwaitKind::ClientExec, Some(_)) => {
                self.host().notify(Level::Info, "this call is being run by the editor; `:Flemma tool:reject` stops it");
            }
            _ => self.go_on_as_written(conversation, Input::Execute(id)),
        }
    }

    /// Says why the question of a call cannot be asked: its input is not valid JSON any more.
    fn explain_input(&self, conversation: &Conversation, call: &OpenCall, input: &str) {
        let fault = match serde_json::from_str::<serde::de::IgnoredAny>(input) {
            Err(error) => JsonFault::of(input, &error),
            Ok(_) => return self.host().notify(Level::Warn, "the input of this call is not a JSON object"),
        };
        let fence = conversation.page().with_document(|_, text| {
            let is_fence = |line: &usize| text.line(*line).trim_start().starts_with(['`', '~']);
            (call.line + 1..text.line_count()).find(is_fence).unwrap_or(call.line)
        });
        let message = format!(
            "{}: the question cannot be shown: line {}: {fault}. Correct the input of the call, or undo the change",
            call.name,
            fence + 1 + fault.line
        );
        self.host().notify(Level::Warn, &message);
    }

    /// Decides about several calls at once, for a key or a command.
    pub(super) fn decide(&self, conversation: &Conversation, calls: Vec<CallId>, choice: &Choice, step: UndoStep) {
        if conversation.session().has_request() || self.is_at_fault(conversation) {
            // The agent says why not.
            return self.feed(conversation, [Input::Decide(calls, choice.clone(), step)]);
        }
        let open = calls.iter().filter_map(|id| conversation.page().open_call(id));
        let is_over = |call: &OpenCall| matches!(self.standing(conversation, call), Standing::Ended(_));
        let over: Vec<CallId> = open.filter(is_over).map(|call| call.id).collect();
        if !over.is_empty() {
            // They were undone: their results are restored.
            return self.feed(conversation, [Input::Recover(over)]);
        }
        let resolution = || match choice {
            Choice::Approve => Resolution::Approve,
            Choice::Reject(words) => Resolution::Reject(words.clone()),
        };
        let mut free = self.free_slots(conversation);
        let (mut prepared, mut refused, mut is_overruling) = (Vec::new(), None, false);
        for call in &calls {
            if let Choice::Reject(words) = choice
                && conversation.records().overrule(call, words.as_deref())
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
        self.commit(conversation, records, move |workspace, conversation, written| {
            // What waits for approval is decided together; the others are answered one by one.
            let is_decision = |prepared: &Prepared| matches!(prepared.input, Input::Decide(..));
            let (decided, mut others): (Vec<_>, Vec<_>) = prepared.into_iter().partition(is_decision);
            let ids = decided.iter().map(|prepared| prepared.call.id.clone()).collect();
            let together = Some(Input::Decide(ids, choice, step));
            let mut resolved = Ok(());
            if !decided.is_empty() {
                resolved = workspace.apply(conversation, decided, together, written.clone());
            }
            for other in others.drain(..) {
                resolved = resolved.and(workspace.apply(conversation, vec![other], None, written.clone()));
            }
            // The user knows that they have stopped everything.
            if let Err(error) =
                resolved.or_else(|error| if matches!(error, ResolveError::Stale(_)) { Ok(()) } else { Err(error) })
            {
                workspace.host().notify(Level::Error, &error.to_string());
            }
        });
    }

    /// The user has stopped everything before their approval of these calls was on the disk: it does not count, and those of
    /// which the start was recorded did not start.
    pub(super) fn take_back(&self, conversation: &Conversation, approved: Vec<CallKey>, started: Vec<CallKey>) {
        let waits = approved.into_iter().filter(|key| !started.contains(key));
        let records = waits.map(|key| self.record(conversation, key, Event::Opened, Role::User)).collect();
        self.note(conversation, records);
        self.withdraw(conversation, started);
    }

    /// The editor exits before these calls start, of which some were recorded as started. They stay approved, for what they were
    /// approved for, and Ctrl-] starts them when the file is open again.
    pub(super) fn keep_approved(&self, conversation: &Conversation, approved: Vec<CallKey>, started: Vec<CallKey>) {
        self.put_off(conversation, started);
        let calls = approved.into_iter().filter(|key| self.is_open(conversation, key)).map(|key| key.id).collect();
        self.feed(conversation, [Input::KeepApproved(calls)]);
    }

    /// These starts were recorded, and did not happen. Whoever approved the calls still has.
    pub(super) fn put_off(&self, conversation: &Conversation, started: impl IntoIterator<Item = CallKey>) {
        let mut records = Vec::new();
        for key in started {
            let (bound, role) = conversation
                .records()
                .with_ledger(|ledger| (ledger.bound(&key).cloned(), ledger.approval(&key).map(|(by, _)| by.role)));
            let again = role.map(|_| Event::Decided(Decision::Approved));
            let events = [Event::Withdrawn].into_iter().chain(bound.map(Event::Bound)).chain(again);
            let role = role.unwrap_or(Role::Policy);
            records.extend(events.map(|event| self.record(conversation, key.clone(), event, role)));
        }
        self.note(conversation, records);
    }

    /// Whether a conversation does not go on here, because the editor exits or its drive was stopped. What was decided stays so for
    /// whoever opens it next.
    pub(super) fn is_ending(&self, conversation: &Conversation) -> bool {
        self.is_leaving() || conversation.drive().is_stopping()
    }

    /// Whether a call that has not begun is approved, as the journal has it.
    pub(super) fn stays_approved(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        let key = CallKey::of(&call.id, &call.name, &call.input);
        let is_approved = conversation.records().with_ledger(|ledger| ledger.approval(&key).is_some());
        is_approved && !conversation.tasks().has_begun(&call.id)
    }

    /// The starts of these calls are recorded: they may start once. What was edited meanwhile is another call.
    pub(super) fn let_start(&self, conversation: &Conversation, started: Vec<CallKey>) {
        let (same, other): (Vec<_>, Vec<_>) = started.into_iter().partition(|key| self.is_open(conversation, key));
        same.into_iter().for_each(|key| conversation.records().let_start(key));
        self.withdraw(conversation, other);
    }

    /// Whether a call with this key is open.
    pub(super) fn is_open(&self, conversation: &Conversation, key: &CallKey) -> bool {
        let open = conversation.page().open_call(&key.id);
        open.is_some_and(|call| call.key() == *key)
    }

    /// These starts were recorded, and did not happen.
    pub(super) fn withdraw(&self, conversation: &Conversation, started: impl IntoIterator<Item = CallKey>) {
        let records = started.into_iter().map(|key| self.record(conversation, key, Event::Withdrawn, Role::User));
        self.note(conversation, records.collect());
    }

    /// Says why a key had no effect.
    fn explain(&self, conversation: &Conversation, id: &CallId, error: &ResolveError) {
        if matches!(error, ResolveError::Late(_)) {
            return;
        }
        let open = conversation.page().open_call(id);
        let kind = open.map(|call| self.effective_kind(conversation, &call));
        let message = match (error, kind) {
            (ResolveError::Stale(Stale::Busy), _) if conversation.records().is_claimed(id) => BEING_RECORDED.to_owned(),
            (ResolveError::Stale(_), Some(AwaitKind::Elicitation)) => {
                "this call asks you a question; press Alt-Enter for the form, or write the answer in its block"
                    .to_owned()
            }
            (ResolveError::Stale(_), Some(AwaitKind::ClientExec)) => "this call is being run by the editor".to_owned(),
            (ResolveError::Stale(_), _) => "no pending call is selected".to_owned(),
            (error, _) => error.to_string(),
        };
        self.host().notify(Level::Info, &message);
    }

    /// How many more tools may start now.
    pub(super) fn free_slots(&self, conversation: &Conversation) -> usize {
        let limit = self.frontmatter(conversation).config.tools.max_concurrent as usize;
        limit.max(1).saturating_sub(conversation.session().running().len())
    }

    /// Whether the document or its frontmatter has an error.
    pub(super) fn is_at_fault(&self, conversation: &Conversation) -> bool {
        let is_error = |found: &flemma_chat::Diagnostic| found.severity == Severity::Error;
        conversation.page().diagnostics().iter().any(is_error) || self.frontmatter(conversation).fault.is_some()
    }
}
