//! A round: what happens to the tool calls of a reply.
//!
//! *Categorise* (`answers.rs`) writes a status block for each call without one. *Execute* reads every block: `approved` runs, `denied`
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
    work::Grounds,
};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::CallId;

/// The fewest calls that are dealt with at a time, however long that takes.
const FEWEST: usize = 8;

const DENIED: &str = "The user's policy denies this call; it did not run.";
/// The same for a call that was started before.
const DENIED_AGAIN: &str =
    "The user's policy denies this call. It had begun before, may have had an effect, and did not go on.";
const NOT_RUNNING: &str = "this call is no longer running, so it is pending again.";
const NOT_APPROVED: &str = "you did not set `status=approved` in this session, so the call is pending again.";
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

    /// Does what is left to do of a round; the rest another time, while calls are being judged or if there are so many that it takes
    /// long.
    pub(super) fn go_on_with_round(&mut self, step: &mut Step<'_>) {
        self.phase = Phase::Executing;
        if !self.round.new.is_empty() {
            return self.judge(step);
        }
        let view = step.view;
        let mut round = std::mem::take(&mut self.round);
        if let (Some(call), false) = (round.waits, view.settings().autopilot) {
            step.push(Effect::Cursor(CursorReason::Pending, Some(call)));
            if self.work.is_done() {
                self.phase = Phase::Idle;
            } else {
                self.start_queued(step);
            }
            return;
        }
        for done in 0.. {
            let Some(id) = round.calls.pop_front() else { break };
            if done >= FEWEST && view.is_late() {
                round.calls.push_front(id);
                self.round = Round { waits: None, ..round };
                step.push(Effect::Pause);
                step.push(Effect::Review);
                return;
            }
            let call = if round.settled.contains(&id) { None } else { view.open_call(&id) };
            if let Some(call) = call {
                self.process(call, round.placed.get(&id).copied(), false, step);
            }
        }
        self.start_queued(step);
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
                self.work.bind(&call);
                self.work.unjudged.push_back((call, Grounds::Approval));
            }
            Status::Pending => {}
            Status::Approved if placed.is_some() && !self.work.was_changed(&call) => {
                self.run_if_possible(call, Verdict::Run, step);
            }
            Status::Approved if placed.is_some() || view.is_authorised(&call) => {
                self.work.unjudged.push_back((call, Grounds::Approval));
            }
            Status::Approved | Status::Running => {
                // It is not running, or was not approved in this session.
                let why = if status == Status::Running { NOT_RUNNING } else { NOT_APPROVED };
                let is_meant = status == Status::Running || view.settings().is_unattended;
                if is_meant && view.is_interrupted(&call) {
                    let grounds = Grounds::Policy { told: None, otherwise: Some(why) };
                    self.work.unjudged.push_back((call, grounds));
                } else {
                    self.work.ask_again_because(&call, why, step);
                }
            }
        }
    }

    /// Queues an approved call, or hands it to whoever runs it, unless it cannot run or a policy forbids it.
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

    /// Has calls judged, and starts as many as the limit allows. If nothing is left to wait for, the round is over.
    pub(super) fn start_queued(&mut self, step: &mut Step<'_>) {
        self.judge(step);
        self.work.start_queued(step);
        if self.work.is_done() && self.round.is_done() {
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
        } else if let Some(call) = self.work.take_waiting(id) {
            self.settle(&call, CallResult::error(CANCELLED_BEFORE), step);
            self.after_one(step);
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
        self.judgement = std::mem::take(&mut self.judgement).forgotten();
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
        for call in self.work.take_all_waiting() {
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
    pub(super) const fn status(self) -> Status {
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
