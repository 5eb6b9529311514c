//! Judging calls: what the policies say of those that are new, and of those that somebody has approved, right before they start.
//!
//! A verdict may need the disk, so it is an input that comes when it is known. One effect at a time has calls judged, in the order in
//! which they came, and what is decided meanwhile is judged by the next one. A verdict on a call that is another one by now does not
//! count.

use std::mem;

use super::{
    CallResult, Input, Placement,
    effect::Effect,
    phase::Phase,
    step::Step,
    turn::Turn,
    view::Verdict,
    work::{Grounds, awaited},
};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::CallId;

/// The most calls that one effect has judged.
const MOST: usize = 8;

const CHANGED: &str = "its input was changed after the approval, so the call is pending again.";

/// The calls that are being judged.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// The number of the last effect.
    number: u64,
    /// The calls that it is about, until their verdicts are there.
    asked: Vec<CallId>,
    /// Whether only calls of a file that was opened are being judged. What the user wants meanwhile comes after that.
    pub(super) is_recovery: bool,
    /// That.
    pub(super) held: Vec<Input>,
}

impl Judgement {
    /// Whether a verdict is waited for.
    pub(super) fn is_open(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether the verdicts of this effect are waited for.
    pub(super) fn is_open_for(&self, number: u64) -> bool {
        self.is_open() && self.number == number
    }

    /// What comes for the last effect does not count any more, and what was held back is not done.
    pub(super) fn forgotten(self) -> Self {
        Self { number: self.number, ..Self::default() }
    }

    /// Whether an input waits until the calls of a file that was opened are judged.
    pub(super) fn holds_back(&self, input: &Input) -> bool {
        self.is_recovery
            && matches!(
                input,
                Input::Advance
                    | Input::CarryOn
                    | Input::Execute(_)
                    | Input::Decide(..)
                    | Input::Outbox
                    | Input::Released
                    | Input::PutDown
                    | Input::Recover(_)
            )
    }
}

impl Turn {
    /// Has calls judged, unless others are being judged.
    pub(super) fn judge(&mut self, step: &mut Step<'_>) {
        if self.judgement.is_open() {
            return;
        }
        let approved = self.work.unjudged.iter().map(|(call, _)| &call.id);
        self.judgement.asked = approved.chain(&self.round.new).take(MOST).cloned().collect();
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
