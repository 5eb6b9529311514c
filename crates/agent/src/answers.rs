//! Single calls: the verdicts of the policies, the user's decisions about pending calls, and those that wait for somebody outside.
//!
//! An approved call starts at once, and the cursor moves to the next pending call. When none is left, autopilot
//! continues and sends the results.
//!
//! A call that waits for the user's answer, or for the editor's user interface, is a status block and nothing else. The agent does
//! not stay busy for it, and the buffer is not locked. When it has its result ([`super::Input::Resolve`]) and no call is open any
//! more, the results are sent.

use std::mem;

use super::{
    CallResult, Choice, CursorReason, Level, Placement, ResolvedBy, UndoStep,
    effect::Effect,
    judgement::Judgement,
    phase::{Phase, ReviewCause},
    step::Step,
    turn::Turn,
    view::Verdict,
    work::{Grounds, awaited},
};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::CallId;

const WRITES_ON: &str = "this call was interrupted while it wrote what was approved, and goes on";
const RUNS_AGAIN: &str = "this call was interrupted and runs again, which its tool declares to be harmless";
const CHANGED: &str = "its input was changed after the approval, so the call is pending again.";
const INTERRUPTED: &str = "this call was interrupted while it was running, and may have had an effect; its block asks whether to run \
     it again";

impl Turn {
    /// Approves or rejects calls.
    pub(super) fn decide(&mut self, ids: &[CallId], choice: &Choice, undo: UndoStep, step: &mut Step<'_>) {
        if self.refuses(step) || step.is_at_fault() {
            return;
        }
        let view = step.view;
        let calls = step.calls();
        let waits = |call: &&OpenCall| {
            ids.contains(&call.id)
                && !call.aborted
                && !self.work.has(&call.id)
                && view.suspends_as(call) != Some(AwaitKind::Elicitation)
        };
        let chosen: Vec<OpenCall> = calls.iter().filter(waits).cloned().collect();
        if chosen.is_empty() {
            return step.info("no pending call is selected");
        }
        // Whoever decides goes on.
        self.autopilot.arm_for_one(!self.autopilot.is_stopping);
        if undo == UndoStep::Own {
            step.push(Effect::UndoStep);
        }
        let next = next_to_decide(&calls, &chosen);
        let is_last = next.is_none() && !self.is_busy() && view.settings().autopilot;
        // The last decision starts a round, which also runs calls that were approved by editing their status.
        let starts = !is_last && (self.is_busy() || view.tools_ready());
        for call in chosen {
            match choice {
                Choice::Approve => {
                    self.work.approve(&call, step);
                    if starts && call.typed().is_empty() {
                        self.work.unjudged.push_back((call, Grounds::Approval));
                    }
                }
                Choice::Reject(words) => self.reject(&call, words.as_deref(), step),
            }
        }
        if self.is_busy() {
            self.start_queued(step);
        } else if !self.work.is_done() {
            self.autopilot.arm();
            self.start_queued(step);
        }
        if let Some(next) = next {
            step.push(Effect::Cursor(CursorReason::Pending, Some(next)));
        } else if is_last {
            self.autopilot.arm();
            self.review_after(ReviewCause::Decision, step);
        }
    }

    /// Calls that were approved do not start any more. Their blocks say that they are approved.
    pub(super) fn keep_approved(&mut self, ids: &[CallId], step: &mut Step<'_>) {
        for call in step.calls() {
            if ids.contains(&call.id) && !call.aborted && !self.work.has(&call.id) {
                self.work.approve(&call, step);
            }
        }
    }

    /// A call that waited has its result.
    pub(super) fn resolve(&mut self, id: &CallId, answer: CallResult, by: ResolvedBy, step: &mut Step<'_>) {
        let Some(call) = &step.view.open_call(id).filter(|_| !self.work.has(id)) else { return };
        let states = step.view.open_states();
        let is_last = states.iter().all(|(other, _)| other == id);
        if self.has_request() {
            // No request is sent while a call is open, so this is the call of a reply that is still arriving.
            return;
        }
        step.push(Effect::UndoStep);
        self.settle(call, answer, step);
        if !call.typed().is_empty() && !matches!(by, ResolvedBy::Document | ResolvedBy::Typed) {
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
            step.push(Effect::Keep(call.typed().to_owned()));
            step.advise(Level::Warn, message, when);
            // What the user has not submitted is not sent without them.
            return self.autopilot.pause();
        }
        if self.is_busy() {
            return;
        }
        let is_person = matches!(by, ResolvedBy::Person | ResolvedBy::Typed);
        if is_person {
            self.autopilot.reset();
        }
        if matches!(by, ResolvedBy::Document | ResolvedBy::Untrusted) {
            return;
        }
        if is_last && (self.autopilot.is_armed || is_person) && step.view.settings().autopilot {
            self.autopilot.is_armed |= is_person && !self.autopilot.is_paused;
            self.review_after(ReviewCause::Decision, step);
        } else if is_person {
            let waits = |(other, block): &&(CallId, Option<(Status, AwaitKind)>)| {
                let is_users = |(status, kind)| status == Status::Pending && kind != AwaitKind::ClientExec;
                other != id && block.is_some_and(is_users)
            };
            let next = states.iter().find(waits).map(|(other, _)| other.clone());
            let reason = if next.is_some() { CursorReason::Pending } else { CursorReason::Result };
            step.push(Effect::Cursor(reason, Some(next.unwrap_or_else(|| id.clone()))));
        }
    }

    /// A tool was not started. Its call waits again, or stays approved if the user has approved it, and nothing goes on by itself.
    pub(super) fn not_started(&mut self, id: &CallId, problem: &str, step: &mut Step<'_>) {
        let Some(call) = self.work.running.remove(id) else { return };
        if step.view.stays_approved(&call) {
            step.push(Effect::SetStatus(call.id.clone(), Status::Approved));
        } else {
            self.work.ask_again(&call, step);
        }
        self.autopilot.pause();
        step.tell(Level::Error, format!("{}: {problem}", call.label()));
        self.after_one(step);
    }

    /// A tool has done nothing, because what was approved is not what it would do now. The user decides.
    pub(super) fn outdated(&mut self, id: &CallId, problem: &str, step: &mut Step<'_>) {
        let view = step.view;
        let is_client = |call: &OpenCall| view.suspends_as(call) == Some(AwaitKind::ClientExec);
        let running = self.work.running.remove(id);
        let was_running = running.is_some();
        let Some(call) = running.or_else(|| view.open_call(id).filter(is_client)) else { return };
        self.work.ask_again_because(&call, problem, step);
        if was_running {
            self.after_one(step);
        }
    }

    /// What the user has written to approve a call does not count. They decide again.
    pub(super) fn refused(&mut self, id: &CallId, step: &mut Step<'_>) {
        // A block that waits stays as it is, and so does its deadline.
        let says_approved = |call: &OpenCall| call.status() == Some(Status::Approved);
        if let Some(call) = step.view.open_call(id).filter(says_approved).filter(|_| !self.work.has(id)) {
            step.push(Effect::UndoStep);
            self.work.ask_again(&call, step);
        }
    }

    /// A running call waits for the user's decision about what it wants to write. The others go on.
    pub(super) fn propose(&mut self, id: &CallId, step: &mut Step<'_>) {
        let Some(call) = self.work.running.remove(id) else { return };
        self.work.withdraw(id);
        step.push(Effect::Await(call.id, AwaitKind::Approval));
        self.after_one(step);
    }

    /// The user has rejected what a call wants to write, and its tool hears of it.
    pub(super) fn go_on(&mut self, id: &CallId, step: &mut Step<'_>) {
        if self.has_request() || self.work.has(id) {
            return;
        }
        let Some(call) = step.view.open_call(id) else { return };
        self.autopilot.arm_for_one(self.is_busy());
        step.push(Effect::UndoStep);
        self.work.start(call, step);
        self.phase = Phase::Executing;
    }

    /// Calls of a file that was opened: the results that the journal has are written, and calls that may run once more
    /// without harm do. The others wait for the user.
    pub(super) fn recover(&mut self, ids: &[CallId], step: &mut Step<'_>) {
        let view = step.view;
        if self.is_busy() || view.fault().is_some() {
            return;
        }
        let mut calls = step.calls();
        calls.retain(|call| ids.contains(&call.id) && !call.aborted);
        if calls.is_empty() {
            return;
        }
        step.push(Effect::UndoStep);
        for call in calls {
            let was_started = matches!(call.status(), Some(Status::Running | Status::Approved));
            let is_interrupted = view.is_interrupted(&call);
            let is_repeated = is_interrupted && view.settings().is_unattended;
            if let Some(answer) = view.recorded(&call) {
                step.restored(&call);
                self.settle(&call, answer, step);
            } else if view.has_proposed(&call) {
                if view.is_authorised(&call) || is_repeated {
                    let grounds = Grounds::Policy { told: Some(WRITES_ON), otherwise: None };
                    self.work.unjudged.push_back((call, grounds));
                } else if was_started {
                    self.work.ask_again(&call, step);
                }
            } else if is_interrupted {
                let grounds = Grounds::Policy { told: Some(RUNS_AGAIN), otherwise: Some(INTERRUPTED) };
                self.work.unjudged.push_back((call, grounds));
            } else if was_started {
                self.work.ask_again_because(&call, INTERRUPTED, step);
            }
        }
        if !self.work.is_done() {
            self.judgement.is_recovery = true;
            self.start_queued(step);
        }
    }

    /// Has calls judged, unless others are being judged.
    pub(super) fn judge(&mut self, step: &mut Step<'_>) {
        if self.judgement.is_open() {
            return;
        }
        let approved = self.work.unjudged.iter().map(|(call, _)| &call.id);
        self.judgement.asked = approved.chain(&self.round.new).take(Judgement::MOST).cloned().collect();
        if self.judgement.is_open() {
            self.judgement.number += 1;
            step.push(Effect::Judge(self.judgement.number, self.judgement.asked.clone()));
        }
    }

    /// Verdicts are there.
    pub(super) fn judged(&mut self, number: u64, verdicts: Vec<(OpenCall, Verdict)>, step: &mut Step<'_>) {
        if !self.judgement.is_open_for(number) {
            return;
        }
        let mut asked = mem::take(&mut self.judgement.asked);
        let mut verdicts_on = Vec::new();
        for (judged, verdict) in verdicts {
            match step.view.open_call(&judged.id) {
                Some(call) if call.name == judged.name && call.input == judged.input => {
                    verdicts_on.push((call, verdict));
                }
                // It was edited meanwhile, and is judged again.
                _ => asked.retain(|id| *id != judged.id),
            }
        }
        let mut is_new = Vec::new();
        for (call, verdict) in verdicts_on {
            match self.work.unjudged.iter().position(|(other, _)| other.id == call.id) {
                Some(at) => {
                    let grounds = self.work.unjudged.remove(at).map(|(_, grounds)| grounds);
                    self.act_on(call, verdict, grounds.unwrap_or(Grounds::Approval), step);
                }
                None => is_new.push((call, verdict)),
            }
        }
        self.place(is_new, step);
        // What has no verdict is gone.
        self.work.unjudged.retain(|(call, _)| !asked.contains(&call.id));
        self.round.new.retain(|id| !asked.contains(id));
        self.after_judging(step);
    }

    fn after_judging(&mut self, step: &mut Step<'_>) {
        if self.judgement.is_recovery && self.work.unjudged.is_empty() {
            self.judgement.is_recovery = false;
            let held = mem::take(&mut self.judgement.held);
            if !held.is_empty() {
                step.push(Effect::Resume(held));
            }
            if self.work.is_done() {
                self.phase = Phase::Idle;
                return;
            }
        }
        if self.round.is_done() {
            self.start_queued(step);
        } else {
            if step.view.is_late() {
                step.push(Effect::Pause);
            }
            self.go_on_with_round(step);
        }
    }

    /// Gives new calls status blocks, or results.
    fn place(&mut self, verdicts: Vec<(OpenCall, Verdict)>, step: &mut Step<'_>) {
        let (mut place, mut settled) = (Vec::new(), Vec::new());
        for (call, verdict) in verdicts {
            // Somebody may have decided about it meanwhile.
            if call.placeholder.is_some() || !self.round.new.contains(&call.id) {
                continue;
            }
            let id = call.id.clone();
            // An id may be reused. A decision about an older call does not apply to this one.
            self.work.withdraw(&id);
            if let Some(answer) = step.view.recorded(&call) {
                step.restored(&call);
                settled.push((call, answer));
                continue;
            }
            let placement = match (verdict, step.view.suspends_as(&call)) {
                (Verdict::Invalid(reason), _) => {
                    settled.push((call, CallResult::error(reason.to_string())));
                    continue;
                }
                (Verdict::Deny, _) => Placement::Denied,
                (Verdict::Run | Verdict::Ask, Some(AwaitKind::Elicitation)) => {
                    Placement::Awaits(AwaitKind::Elicitation)
                }
                (Verdict::Run, _) => {
                    self.work.bind(&call);
                    Placement::Approved
                }
                (Verdict::Ask, _) => Placement::Awaits(AwaitKind::Approval),
                (Verdict::Unclear(why), kind) => {
                    step.warn(&call, &format!("{why}. It waits for you."));
                    Placement::Awaits(awaited(kind))
                }
            };
            if matches!(placement, Placement::Awaits(_)) {
                self.round.waits.get_or_insert_with(|| id.clone());
            }
            self.round.placed.insert(id.clone(), placement.status());
            place.push((id, placement));
        }
        if !place.is_empty() {
            step.push(Effect::Place(place));
        }
        for (call, answer) in settled {
            self.settle(&call, answer, step);
            self.round.settled.insert(call.id);
        }
    }

    /// Starts a call that was approved, unless its verdict says otherwise.
    fn act_on(&mut self, call: OpenCall, verdict: Verdict, grounds: Grounds, step: &mut Step<'_>) {
        match grounds {
            // Only what was approved may run: if the input was edited after a policy's decision, the policy decides again.
            Grounds::Approval if verdict == Verdict::Ask && self.work.was_changed(&call) => {
                self.work.ask_again_because(&call, CHANGED, step);
            }
            Grounds::Approval => self.run_if_possible(call, verdict, step),
            Grounds::Policy { told, .. } if verdict == Verdict::Run => {
                if let Some(what) = told {
                    step.info(format!("{}: {what}", call.label()));
                }
                self.run_if_possible(call, verdict, step);
            }
            Grounds::Policy { otherwise: Some(why), .. } => self.work.ask_again_because(&call, why, step),
            Grounds::Policy { .. } if call.status() != Some(Status::Pending) => {
                self.work.ask_again(&call, step);
            }
            Grounds::Policy { .. } => {}
        }
    }
}

/// The next pending call after those that were decided, otherwise the first one.
fn next_to_decide(calls: &[OpenCall], decided: &[OpenCall]) -> Option<CallId> {
    let is_decided = |call: &OpenCall| decided.iter().any(|other| other.id == call.id);
    let waits = |call: &&OpenCall| {
        call.status().is_none_or(|status| status == Status::Pending) && !call.aborted && !is_decided(call)
    };
    let last = calls.iter().rposition(is_decided)?;
    calls[last..].iter().find(waits).or_else(|| calls.iter().find(waits)).map(|call| call.id.clone())
}
