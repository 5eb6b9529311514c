//! Calls that wait for somebody outside: for the user's answer, or for the editor's user interface.
//!
//! Such a call is a status block and nothing else. The agent does not stay busy for it, and the buffer is not locked. When
//! it has its result ([`super::Input::Resolve`]) and no call is open any more, the results are sent.

use super::{
    Agent, CallResult, Cursor, Effect, Level, ResolvedBy,
    phase::ReviewCause,
    round::{addressable, restored},
    view::{Verdict, View},
};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::CallId;

impl Agent {
    /// Hands an approved call to whoever answers it.
    pub(super) fn suspend(&mut self, call: OpenCall, kind: AwaitKind, effects: &mut Vec<Effect>) {
        effects.push(Effect::Await(call.id.clone(), kind));
        if kind == AwaitKind::ClientExec {
            effects.push(Effect::Offer(call));
        }
    }

    /// A call that waited has its result.
    pub(super) fn resolve(
        &mut self,
        id: &CallId,
        answer: CallResult,
        by: ResolvedBy,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        let Some(call) = &view.open_call(id).filter(|_| !self.is_working_on(id)) else { return };
        let states = view.open_states();
        let is_last = states.iter().all(|(other, _)| other == id);
        if self.has_request() {
            // No request is sent while a call is open, so this is the call of a reply that is still arriving.
            return;
        }
        effects.push(Effect::UndoStep);
        self.settle(call, answer, effects);
        let typed = call.placeholder.as_ref().map_or("", |placeholder| &placeholder.content);
        if !typed.is_empty() && !matches!(by, ResolvedBy::Document | ResolvedBy::Typed) {
            let why = match by {
                ResolvedBy::Clock => "its deadline has passed",
                _ => "the call got another result",
            };
            let when = match is_last {
                true => "Press Ctrl-] to send it.",
                false => "When the other calls have their results, Ctrl-] sends it.",
            };
            let message = format!(
                "{}: {why}, so your text in its block was not used. It is at the end of your message now.",
                call.label()
            );
            effects.push(Effect::Keep(typed.to_owned()));
            effects.push(Effect::Advise(Level::Warn, message, when));
            // What the user has not submitted is not sent without them.
            return self.pause();
        }
        if self.is_busy() {
            return;
        }
        let waits = |(other, block): &(CallId, Option<(Status, AwaitKind)>)| {
            let waits = block.is_some_and(|(status, kind)| status == Status::Pending && kind != AwaitKind::ClientExec);
            (other != id && waits).then(|| other.clone())
        };
        let next = states.iter().find_map(waits);
        let is_person = matches!(by, ResolvedBy::Person | ResolvedBy::Typed);
        if is_person {
            self.reset_counters();
        }
        if matches!(by, ResolvedBy::Document | ResolvedBy::Untrusted) {
            return;
        }
        if is_last && (self.armed || is_person) && view.settings().autopilot {
            self.armed |= is_person && !self.is_paused;
            self.review_after(ReviewCause::Decision, effects);
        } else if is_person {
            let target = next.map_or_else(|| Cursor::Result(id.clone()), Cursor::Pending);
            effects.push(Effect::Cursor(target));
        }
    }

    /// A tool was not started. Its call waits again, or stays approved if the user has approved it, and nothing goes on by itself.
    pub(super) fn not_started(&mut self, id: &CallId, problem: &str, view: &dyn View, effects: &mut Vec<Effect>) {
        let Some(call) = self.running.remove(id) else { return };
        if view.stays_approved(&call) {
            effects.push(Effect::SetStatus(call.id.clone(), Status::Approved));
        } else {
            self.ask_again(&call, view, effects);
        }
        self.pause();
        effects.push(Effect::Notify(Level::Error, format!("{}: {problem}", call.label())));
        self.after_one(view, effects);
    }

    /// A tool has done nothing, because what was approved is not what it would do now. The user decides.
    pub(super) fn outdated(&mut self, id: &CallId, problem: &str, view: &dyn View, effects: &mut Vec<Effect>) {
        let running = self.running.remove(id);
        let is_client = |call: &OpenCall| view.suspends_as(call) == Some(AwaitKind::ClientExec);
        let was_running = running.is_some();
        let Some(call) = running.or_else(|| view.open_call(id).filter(is_client)) else { return };
        self.ask_again(&call, view, effects);
        effects.push(Effect::Notify(Level::Warn, format!("{}: {problem}", call.label())));
        if was_running {
            self.after_one(view, effects);
        }
    }

    /// What the user has written to approve a call does not count. They decide again.
    pub(super) fn refused(&mut self, id: &CallId, view: &dyn View, effects: &mut Vec<Effect>) {
        let says_approved = |call: &OpenCall| {
            let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
            status == Some(Status::Approved)
        };
        // A block that waits stays as it is, and so does its deadline.
        if let Some(call) = view.open_call(id).filter(says_approved).filter(|_| !self.is_working_on(id)) {
            effects.push(Effect::UndoStep);
            self.ask_again(&call, view, effects);
        }
    }

    /// A running call waits for the user's decision about what it wants to write. The others go on.
    pub(super) fn propose(&mut self, id: &CallId, view: &dyn View, effects: &mut Vec<Effect>) {
        let Some(call) = self.running.remove(id) else { return };
        self.approvals.remove(id);
        effects.push(Effect::Await(call.id, AwaitKind::Approval));
        self.after_one(view, effects);
    }

    /// The user has rejected what a call wants to write, and its tool hears of it.
    pub(super) fn go_on(&mut self, id: &CallId, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.has_request() || self.is_working_on(id) {
            return;
        }
        let Some(call) = view.open_call(id) else { return };
        if self.is_busy() && !self.is_stopping {
            self.reset_counters();
        } else {
            self.arm();
        }
        effects.push(Effect::UndoStep);
        effects.push(Effect::SetStatus(call.id.clone(), Status::Running));
        effects.push(Effect::Run(call.clone()));
        self.running.insert(call.id.clone(), call);
        self.execute();
    }

    /// Calls of a file that was opened: the results that the journal has are written, and calls that may run once more
    /// without harm do. The others wait for the user.
    pub(super) fn recover(&mut self, ids: &[CallId], view: &dyn View, effects: &mut Vec<Effect>) {
        if self.is_busy() || view.fault().is_some() {
            return;
        }
        let calls: Vec<OpenCall> =
            addressable(view).into_iter().filter(|call| ids.contains(&call.id) && !call.aborted).collect();
        if calls.is_empty() {
            return;
        }
        effects.push(Effect::UndoStep);
        for call in calls {
            let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
            if let Some(answer) = view.recorded(&call) {
                effects.push(restored(&call, view));
                self.settle(&call, answer, effects);
            } else if view.has_proposed(&call) {
                if view.is_authorised(&call) && view.verdict(&call) == Verdict::Run {
                    let message = format!(
                        "{}: this call was interrupted while it wrote what was approved, and goes on",
                        call.label()
                    );
                    effects.push(Effect::Notify(Level::Info, message));
                    self.run_if_possible(call, Verdict::Run, view, effects);
                } else if matches!(status, Some(Status::Running | Status::Approved)) {
                    self.ask_again(&call, view, effects);
                }
            } else if view.is_interrupted(&call) && view.verdict(&call) == Verdict::Run {
                let message = format!(
                    "{}: this call was interrupted and runs again, which its tool declares to be harmless",
                    call.label()
                );
                effects.push(Effect::Notify(Level::Info, message));
                self.run_if_possible(call, Verdict::Run, view, effects);
            } else if matches!(status, Some(Status::Running | Status::Approved))
                || (status == Some(Status::Pending) && view.is_interrupted(&call))
            {
                let message = format!(
                    "{}: this call was interrupted while it was running, and may have had an effect; its block asks \
                     whether to run it again",
                    call.label()
                );
                effects.push(Effect::Notify(Level::Warn, message));
                self.ask_again(&call, view, effects);
            }
        }
        if !self.queue.is_empty() {
            self.start_queued(view.settings(), effects);
        }
    }

    /// Stops autopilot until the user presses Ctrl-].
    pub(super) fn pause(&mut self) {
        self.armed = false;
        self.is_paused = true;
    }
}
