//! A round: what happens to the tool calls of a reply.
//!
//! *Categorise* writes a status block for each call without one. *Execute* reads every block: `approved` runs, `denied`
//! and `rejected` become error results (the text in a rejected block is the reason), text that the user typed in any
//! other block becomes the result, `pending` waits. When the last tool of the round has finished, the document is
//! reviewed.
//!
//! No round begins in a document with an error: it could not be sent, and results might not fit into it.

use super::{
    CallResult, CursorReason, Level, Placement,
    effect::Effect,
    phase::{Phase, ReviewCause, Round},
    rejection::own_words,
    step::Step,
    turn::Turn,
    view::{Verdict, View},
    work::awaited,
};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::CallId;

/// The fewest calls that are dealt with at a time, however long that takes.
const FEWEST: usize = 8;

const DENIED: &str = "The user's policy denies this call; it did not run.";
/// The same for a call that was started before.
const DENIED_AGAIN: &str =
    "The user's policy denies this call. It had begun before, may have had an effect, and did not go on.";
const ABORTED: &str = "The reply was aborted before this call could run.";
/// Nobody knows here how far it had got: a file may be written in the moment in which the user cancels.
const CANCELLED: &str = "The user cancelled this call while it was running. What it had done by then, such as a file that it had \
     written, stays done.";
const CANCELLED_BEFORE: &str = "The user cancelled this call before it ran.";

impl Turn {
    /// Categorises, and then executes unless the user has to look first.
    pub(super) fn begin_round(&mut self, step: &mut Step<'_>) {
        if step.is_at_fault() {
            self.autopilot.is_armed = false;
            self.phase = Phase::Idle;
            return;
        }
        let calls = step.calls();
        step.push(Effect::UndoStep);
        let is_new = |call: &&OpenCall| call.placeholder.is_none() && !call.aborted;
        self.round = Round {
            new: calls.iter().filter(is_new).map(|call| call.id.clone()).collect(),
            calls: calls.into_iter().map(|call| call.id).collect(),
            ..Round::default()
        };
        self.go_on_with_round(step);
    }

    /// Does what is left to do of a round; the rest another time, if there are so many calls that it takes long.
    pub(super) fn go_on_with_round(&mut self, step: &mut Step<'_>) {
        let (view, mut done) = (step.view, 0);
        let mut is_late = || {
            done += 1;
            done > FEWEST && view.is_late()
        };
        let mut round = std::mem::take(&mut self.round);
        self.categorise(&mut round, &mut is_late, step);
        if round.new.is_empty()
            && let (Some(call), false) = (&round.waits, view.settings().autopilot)
        {
            self.phase = Phase::Idle;
            step.push(Effect::Cursor(CursorReason::Pending, Some(call.clone())));
            return;
        }
        while round.new.is_empty()
            && let Some(id) = round.calls.pop_front()
        {
            if is_late() {
                round.calls.push_front(id);
                break;
            }
            let call = if round.settled.contains(&id) { None } else { view.open_call(&id) };
            if let Some(call) = call {
                self.process(call, round.placed.get(&id).copied(), false, step);
            }
        }
        if round.calls.is_empty() {
            return self.start_queued(step);
        }
        self.round = round;
        step.push(Effect::Pause);
        self.review_after(ReviewCause::PartOfRound, step);
    }

    /// Gives new calls status blocks, or results.
    fn categorise(&mut self, round: &mut Round, is_late: &mut dyn FnMut() -> bool, step: &mut Step<'_>) {
        let (mut place, mut settled) = (Vec::new(), Vec::new());
        while let Some(id) = round.new.pop_front() {
            if is_late() {
                round.new.push_front(id);
                break;
            }
            let Some(call) = step.view.open_call(&id) else { continue };
            // An id may be reused. A decision about an older call does not apply to this one.
            self.work.withdraw(&id);
            if let Some(answer) = step.view.recorded(&call) {
                step.restored(&call);
                settled.push((call, answer));
                continue;
            }
            let placement = match (step.view.verdict(&call), step.view.suspends_as(&call)) {
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
                round.waits.get_or_insert_with(|| id.clone());
            }
            round.placed.insert(id.clone(), placement.status());
            place.push((id, placement));
        }
        if !place.is_empty() {
            step.push(Effect::Place(place));
        }
        for (call, answer) in settled {
            self.settle(&call, answer, step);
            round.settled.insert(call.id);
        }
    }

    /// Runs or resolves the call under the cursor.
    pub(super) fn execute_one(&mut self, id: &CallId, step: &mut Step<'_>) {
        if self.refuses(step) {
            return;
        }
        if self.work.has(id) {
            return step.info("this tool is already running");
        }
        let Some(call) = step.view.open_call(id) else {
            return step.info(format!("the call {id} already has a result"));
        };
        if step.is_at_fault() {
            return;
        }
        self.autopilot.arm_for_one(self.is_busy());
        step.push(Effect::UndoStep);
        let mut placed = None;
        if call.placeholder.is_none() && !call.aborted {
            step.push(Effect::Place(vec![(id.clone(), Placement::Approved)]));
            placed = Some(Status::Approved);
        }
        self.process(call, placed, true, step);
        self.start_queued(step);
    }

    /// Handles one call. `placed` is the status that this step wrote for it. `asked` says that the user chose this
    /// call, which approves a pending one.
    fn process(&mut self, call: OpenCall, placed: Option<Status>, asked: bool, step: &mut Step<'_>) {
        let view = step.view;
        if call.aborted {
            return self.settle(&call, CallResult::error(ABORTED), step);
        }
        let Some(status) = placed.or(call.status()) else { return };
        let content = if placed.is_some() { "" } else { call.typed() };
        if self.work.has(&call.id) || view.is_offered(&call) {
            return;
        }
        // What the user has typed was recorded a moment ago.
        let is_typed = |answer: &CallResult| !content.is_empty() && answer.output == own_words(content);
        if let Some(answer) = view.recorded(&call).filter(|answer| status != Status::Rejected && !is_typed(answer)) {
            step.restored(&call);
            return self.settle(&call, answer, step);
        }
        match status {
            Status::Denied => {
                self.settle(&call, denied(&call, view), step);
                if !content.is_empty() {
                    let warning = "a policy denies this call, so your text in its block was not sent. To send it as the \
                                   reason, undo and write `status=rejected`.";
                    step.warn(&call, warning);
                }
            }
            Status::Rejected => self.reject(&call, None, step),
            // The workspace has made an answer of what is valid in it, and has said what is not.
            _ if view.suspends_as(&call) == Some(AwaitKind::Elicitation) => {
                if status != Status::Pending {
                    self.work.ask_again(&call, step);
                }
            }
            _ if !content.is_empty() => {
                let how = match has_begun(&call, view) {
                    true => "and the tool, which had begun before, did not go on",
                    false => "and the tool did not run",
                };
                self.settle(&call, CallResult::text(own_words(content)), step);
                self.autopilot.pause();
                let warning = format!("{}: your text in the block was used as the result, {how}.", call.label());
                step.advise(Level::Warn, warning, "Press Ctrl-] to continue.");
            }
            _ if asked => {
                let verdict = view.verdict(&call);
                self.run_if_possible(call, verdict, step);
            }
            Status::Pending => {}
            Status::Approved if placed.is_some() || view.is_authorised(&call) => self.run_approved(call, step),
            // It is not running, or was not approved in this session.
            Status::Running if view.is_interrupted(&call) && view.verdict(&call) == Verdict::Run => {
                self.run_if_possible(call, Verdict::Run, step);
            }
            Status::Running => {
                self.work.ask_again_because(&call, "this call is no longer running, so it is pending again.", step);
            }
            Status::Approved => {
                let why = "you did not set `status=approved` in this session, so the call is pending again.";
                self.work.ask_again_because(&call, why, step);
            }
        }
    }

    /// Only what was approved may run: if the input was edited after a policy's decision, the policy decides again.
    fn run_approved(&mut self, call: OpenCall, step: &mut Step<'_>) {
        let verdict = step.view.verdict(&call);
        if self.work.was_changed(&call) && verdict == Verdict::Ask {
            let why = "its input was changed after the approval, so the call is pending again.";
            self.work.ask_again_because(&call, why, step);
        } else {
            self.run_if_possible(call, verdict, step);
        }
    }

    /// Queues an approved call, or hands it to whoever runs it, unless it cannot run or a policy forbids it. `verdict` is the one by
    /// which it was found to be approved: asked again, the disk may say something else.
    pub(super) fn run_if_possible(&mut self, call: OpenCall, verdict: Verdict, step: &mut Step<'_>) {
        if let Some(answer) = step.view.recorded(&call) {
            step.restored(&call);
            return self.settle(&call, answer, step);
        }
        match (verdict, step.view.suspends_as(&call)) {
            (Verdict::Run | Verdict::Ask, None) => self.work.queue.push_back(call),
            // Whoever answers it gets it.
            (Verdict::Run | Verdict::Ask, Some(kind)) => {
                step.push(Effect::Await(call.id.clone(), kind));
                if kind == AwaitKind::ClientExec {
                    step.push(Effect::Offer(call));
                }
            }
            (Verdict::Deny, _) => self.settle(&call, denied(&call, step.view), step),
            (Verdict::Invalid(reason), _) => self.settle(&call, CallResult::error(reason.to_string()), step),
            (Verdict::Unclear(why), _) => {
                self.work.ask_again_because(&call, &format!("{why}. It did not run, and waits for you."), step);
            }
        }
    }

    /// A call does not run any more. The others go on; after the last one of a round that the user has stopped, the turn ends.
    pub(super) fn after_one(&mut self, step: &mut Step<'_>) {
        if self.autopilot.is_stopping && self.work.is_done() {
            self.rest_unsent(step);
        } else {
            self.start_queued(step);
        }
    }

    /// Starts as many calls as the limit allows. If nothing is left to wait for, the round is over.
    pub(super) fn start_queued(&mut self, step: &mut Step<'_>) {
        self.work.start_queued(step);
        if self.work.running.is_empty() {
            self.review_after(ReviewCause::Round, step);
        } else {
            self.phase = Phase::Executing;
        }
    }

    pub(super) fn settle(&mut self, call: &OpenCall, answer: CallResult, step: &mut Step<'_>) {
        self.work.withdraw(&call.id);
        self.autopilot.guard.record(call, &answer);
        step.push(Effect::Settle(call.id.clone(), answer));
    }

    /// Settles a call that the user rejects. What was recorded is what is written.
    pub(super) fn reject(&mut self, call: &OpenCall, words: Option<&str>, step: &mut Step<'_>) {
        let answer = step.view.recorded(call).unwrap_or_else(|| step.view.rejection(call, words));
        self.settle(call, answer, step);
    }

    /// Gives the calls of an aborted reply error results, which say why if that is due to the model.
    pub(super) fn settle_aborted(&mut self, calls: &[OpenCall], step: &mut Step<'_>) {
        let words = self.cut_off.take().unwrap_or_else(|| ABORTED.to_owned());
        for call in calls.iter().filter(|call| call.aborted) {
            self.settle(call, CallResult::error(words.clone()), step);
        }
    }

    /// A tool has finished. The result of a cancelled call is dropped.
    pub(super) fn tool_finished(&mut self, id: &CallId, answer: CallResult, step: &mut Step<'_>) {
        if let Some(call) = self.work.running.remove(id) {
            self.settle(&call, answer, step);
            step.push(Effect::Cursor(CursorReason::Result, Some(id.clone())));
            self.after_one(step);
        }
    }

    pub(super) fn cancel_tool(&mut self, id: &CallId, step: &mut Step<'_>) {
        if let Some(call) = self.work.running.get(id) {
            step.push(Effect::Kill(id.clone()));
            if step.view.drop_unless_changing(&call.id) {
                self.tool_finished(id, CallResult::error(CANCELLED), step);
            } else {
                too_late([call], step);
            }
        } else if let Some(at) = self.work.queue.iter().position(|call| call.id == *id)
            && let Some(call) = self.work.queue.remove(at)
        {
            self.settle(&call, CallResult::error(CANCELLED_BEFORE), step);
        } else {
            step.info(format!("the call {id} is not running"));
        }
    }

    /// Stops all tools, but not the conversation: the model is told. Queued calls become pending.
    pub(super) fn cancel_tools(&mut self, step: &mut Step<'_>) {
        if self.work.is_done() {
            return step.info("no tool is running here");
        }
        self.stop_tools(step);
        self.start_queued(step);
    }

    /// Stops the round: running calls get error results, queued calls become pending. A call that is changing files goes on, as
    /// nobody knows here what it has changed. Where nobody has stopped the round, the blocks stay as they are: an error result
    /// would make the model call the tool again, with another id, although nobody knows whether the call had an effect.
    pub(super) fn stop_tools(&mut self, step: &mut Step<'_>) {
        let view = step.view;
        let is_unattended = view.settings().is_unattended;
        let stays_approved = |call: &OpenCall| view.is_ending() && view.stays_approved(call);
        for (id, call) in std::mem::take(&mut self.work.running) {
            let stays_approved = stays_approved(&call);
            step.push(Effect::Kill(id.clone()));
            if stays_approved {
                step.push(Effect::SetStatus(id, Status::Approved));
            } else if !view.drop_unless_changing(&call.id) {
                self.work.running.insert(id, call);
            } else if !is_unattended {
                self.settle(&call, CallResult::error(CANCELLED), step);
            }
        }
        for call in std::mem::take(&mut self.work.queue) {
            self.work.withdraw(&call.id);
            if !is_unattended && !stays_approved(&call) {
                step.push(Effect::Await(call.id, AwaitKind::Approval));
            }
        }
        if self.work.running.is_empty() {
            self.phase = Phase::Idle;
        } else {
            too_late(self.work.running.values(), step);
        }
    }
}

impl Placement {
    /// The word in the block.
    const fn status(self) -> Status {
        match self {
            Self::Awaits(_) => Status::Pending,
            Self::Approved => Status::Approved,
            Self::Denied => Status::Denied,
        }
    }
}

/// Tells the user that calls cannot be stopped any more.
fn too_late<'a>(calls: impl IntoIterator<Item = &'a OpenCall>, step: &mut Step<'_>) {
    let names: Vec<String> = calls.into_iter().map(OpenCall::label).collect();
    let names = names.join(", ");
    step.info(format!("{names}: too late to cancel, files are being changed; the result follows"));
}

/// Whether the tool of a call was started in an earlier life of it.
fn has_begun(call: &OpenCall, view: &dyn View) -> bool {
    view.has_begun(call) || view.is_interrupted(call)
}

/// The result of a call that a policy denies.
fn denied(call: &OpenCall, view: &dyn View) -> CallResult {
    CallResult::error(if has_begun(call, view) { DENIED_AGAIN } else { DENIED })
}
