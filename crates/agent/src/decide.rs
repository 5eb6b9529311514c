//! The user's decisions about pending calls.
//!
//! An approved call starts at once, and the cursor moves to the next pending call. When none is left, autopilot
//! continues and sends the results.

use super::{
    Agent, Choice, Cursor, Effect, Level, Placement, UndoStep,
    phase::ReviewCause,
    round::{addressable, is_at_fault},
    view::View,
};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::CallId;

impl Agent {
    /// Approves or rejects calls.
    pub(super) fn decide(
        &mut self,
        ids: &[CallId],
        choice: &Choice,
        step: UndoStep,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        if self.has_request() {
            effects.push(Effect::Notify(Level::Info, "a reply is still arriving; Ctrl-C stops it".into()));
            return;
        }
        if is_at_fault(view, effects) {
            return;
        }
        let calls = addressable(view);
        let waits = |call: &&OpenCall| {
            ids.contains(&call.id)
                && !call.aborted
                && !self.is_working_on(&call.id)
                && view.suspends_as(call) != Some(AwaitKind::Elicitation)
        };
        let chosen: Vec<OpenCall> = calls.iter().filter(waits).cloned().collect();
        if chosen.is_empty() {
            effects.push(Effect::Notify(Level::Info, "no pending call is selected".into()));
            return;
        }
        if self.is_stopping {
            // Whoever decides goes on.
            self.arm();
        } else {
            self.reset_counters();
        }
        if step == UndoStep::Own {
            effects.push(Effect::UndoStep);
        }
        let next = next_to_decide(&calls, &chosen);
        let is_last = next.is_none() && !self.is_busy() && view.settings().autopilot;
        // The last decision starts a round, which also runs calls that were approved by editing their status.
        let starts = !is_last && (self.is_busy() || view.tools_ready());
        for call in &chosen {
            match choice {
                Choice::Approve => {
                    self.approve(call, effects);
                    let overridden = call.placeholder.as_ref().is_some_and(|block| !block.content.is_empty());
                    if starts && !overridden {
                        self.run_if_possible(call.clone(), view.verdict(call), view, effects);
                    }
                }
                Choice::Reject(words) => {
                    self.reject(call, words.as_deref(), view, effects);
                }
            }
        }
        if self.is_busy() {
            self.start_queued(view.settings(), effects);
        } else if !self.queue.is_empty() {
            self.arm();
            self.start_queued(view.settings(), effects);
        }
        if let Some(next) = next {
            effects.push(Effect::Cursor(Cursor::Pending(next)));
        } else if is_last {
            self.arm();
            self.review_after(ReviewCause::Decision, effects);
        }
    }

    /// Calls that were approved do not start any more. Their blocks say that they are approved.
    pub(super) fn keep_approved(&mut self, ids: &[CallId], view: &dyn View, effects: &mut Vec<Effect>) {
        for call in addressable(view) {
            if ids.contains(&call.id) && !call.aborted && !self.is_working_on(&call.id) {
                self.approve(&call, effects);
            }
        }
    }

    /// Binds the user's approval to the current name and input of the call.
    fn approve(&mut self, call: &OpenCall, effects: &mut Vec<Effect>) {
        if call.placeholder.is_none() {
            effects.push(Effect::Place(vec![(call.id.clone(), Placement::Approved)]));
        } else {
            effects.push(Effect::SetStatus(call.id.clone(), Status::Approved));
        }
        self.bind(call);
    }

    /// Called when the user has edited the document. Calls that they approved by editing are bound to their current
    /// name and input.
    pub fn notice(&mut self, view: &dyn View) {
        for (id, block) in view.open_states() {
            let is_approved = block.is_some_and(|(status, _)| status == Status::Approved);
            let call = if is_approved { view.open_call(&id).filter(|call| view.is_authorised(call)) } else { None };
            match call {
                None => drop(self.approvals.remove(&id)),
                Some(call) if !self.approvals.contains_key(&id) => self.bind(&call),
                Some(_) => {}
            }
        }
    }

    fn bind(&mut self, call: &OpenCall) {
        self.approvals.insert(call.id.clone(), (call.name.clone(), call.input.clone()));
    }
}

/// The next pending call after those that were decided, otherwise the first one.
fn next_to_decide(calls: &[OpenCall], decided: &[OpenCall]) -> Option<CallId> {
    let is_decided = |call: &OpenCall| decided.iter().any(|other| other.id == call.id);
    let waits = |call: &&OpenCall| {
        let pending = call.placeholder.as_ref().is_none_or(|placeholder| placeholder.block.status == Status::Pending);
        pending && !call.aborted && !is_decided(call)
    };
    let last = calls.iter().rposition(is_decided)?;
    calls[last..].iter().find(waits).or_else(|| calls.iter().find(waits)).map(|call| call.id.clone())
}
