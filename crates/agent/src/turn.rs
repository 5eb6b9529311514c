//! The state machine of requests.
//!
//! [`Turn::step`] dispatches by input. Keys and ends, and what the user has queued, are handled here, requests in `request.rs`,
//! tool calls in `round.rs`, their verdicts in `judgement.rs`, and what becomes of single calls in `answers.rs`. Two rules hold
//! after every step: the buffer is locked exactly while Flemma may still write to it, and no request is sent while a call is open.
//!
//! A step sees the document as it was before its own effects. If the next decision depends on the document after them
//! (which calls did the reply make?), the step ends with [`Effect::Review`].

use super::{
    Activity, CursorReason, Departure, Input, Level, Stop,
    autopilot::Autopilot,
    effect::{Effect, RequestKind},
    judgement::Judgement,
    phase::{Deferred, Phase, ReviewCause, Round},
    step::Step,
    view::View,
    work::Work,
};
use flemma_chat::{AwaitKind, Awaiting, OpenCall, Status, Tail};
use flemma_model::ToolInput;

const WORDS_HELD: &str = "The text below the results was not sent.";

/// What a conversation is at, as far as its document does not say it: the state machine.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) phase: Phase,
    pub(super) work: Work,
    pub(super) autopilot: Autopilot,
    /// What is left to do of a round, while there is another step for it.
    pub(super) round: Round,
    /// What is being judged, and by which effect.
    pub(super) judgement: Judgement,
    /// What the model is told of the calls of a reply that was cut off because of what it did.
    pub(super) cut_off: Option<String>,
    pub(super) last_request: u64,
    locked: bool,
    /// Whether what the user has typed at the end is sent with the results: they have pressed the key that sends since. At rest
    /// they may type on, so that it counts no longer.
    sends_words: bool,
    /// Whether references were captured for the request, in a step of undo that the reply belongs to.
    pub(super) has_captured: bool,
}

impl Turn {
    /// Handles one input and returns the effects.
    pub fn step(&mut self, input: Input, view: &dyn View) -> Vec<Effect> {
        let step = &mut Step::new(view);
        match input {
            input if self.judgement.holds_back(&input) => self.judgement.held.push(input),
            Input::Advance => self.advance(true, step),
            Input::CarryOn => self.advance(false, step),
            Input::Execute(call) if !view.tools_ready() && !self.is_busy() => self.load(Deferred::Execute(call)),
            Input::Execute(call) => self.execute_one(&call, step),
            Input::Decide(calls, choice, undo) => self.decide(&calls, &choice, undo, step),
            Input::ToolsReady => self.tools_ready(step),
            Input::Cancel => self.cancel(step),
            Input::CancelTool(call) => self.cancel_tool(&call, step),
            Input::CancelTools => self.cancel_tools(step),
            Input::Event { request, event } => self.event(request, event, step),
            Input::Failed { request, error, jitter } => self.failed(request, &error, jitter, step),
            Input::Aborted { request } => self.aborted(request, step),
            Input::BackoffOver { request } => self.backoff_over(request, step),
            Input::Review => self.review(step),
            Input::Judged { number, verdicts } => self.judged(number, verdicts, step),
            Input::ToolFinished { call, answer } => self.tool_finished(&call, answer, step),
            Input::NotStarted { call, problem } => self.not_started(&call, &problem, step),
            Input::Outdated { call, problem } => self.outdated(&call, &problem, step),
            Input::Refused(call) => self.refused(&call, step),
            Input::Proposed(call) => self.propose(&call, step),
            Input::KeepApproved(calls) => self.keep_approved(&calls, step),
            Input::GoOn(call) => self.go_on(&call, step),
            Input::Resolve { call, answer, by } => self.resolve(&call, answer, by, step),
            Input::Outbox => self.outbox_changed(step),
            Input::Released => self.released(step),
            Input::PutDown if !self.is_busy() => put_down(Departure::Returned, step),
            Input::PutDown => {}
            Input::Recover(calls) => self.recover(&calls, step),
            Input::Captured(outcome) => self.captured(outcome, step),
        }
        self.sends_words &= self.is_busy();
        let mut effects = std::mem::take(&mut step.effects);
        if self.is_busy() != self.locked {
            self.locked = !self.locked;
            // The buffer is locked before the step's writes and unlocked after them.
            let at = if self.locked { 0 } else { effects.len() };
            effects.insert(at, Effect::Lock(self.locked));
        }
        effects
    }

    /// Called when the user has edited the document: see [`Work::notice`].
    pub fn notice(&mut self, view: &dyn View) {
        self.work.notice(&Step::new(view));
    }

    /// Whether Flemma may still write to the buffer.
    pub fn is_busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// What the conversation is doing.
    pub fn activity(&self) -> Activity {
        match &self.phase {
            Phase::Idle => Activity::Idle,
            Phase::Loading(_) => Activity::Loading,
            Phase::Capturing(_) => Activity::Capturing,
            Phase::Requesting { .. } | Phase::Reviewing(_) => Activity::Waiting,
            Phase::BackingOff { attempt, reason, .. } => {
                Activity::Retrying { attempt: attempt + 1, reason: reason.clone() }
            }
            Phase::Streaming { activity, .. } => activity.clone(),
            Phase::Executing => Activity::Executing { running: self.work.running.len() },
        }
    }

    /// Whether a request is running or about to be sent.
    pub(super) fn has_request(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Reviewing(_) | Phase::Executing)
    }

    /// The same, and tells the user who wants something else.
    pub(super) fn refuses(&self, step: &mut Step<'_>) -> bool {
        if self.has_request() {
            step.info("a reply is still arriving; Ctrl-C stops it");
        }
        self.has_request()
    }

    pub(super) fn review_after(&mut self, after: ReviewCause, step: &mut Step<'_>) {
        self.phase = Phase::Reviewing(after);
        step.push(Effect::Review);
    }

    /// Why the conversation came to rest before its end, since the last key press.
    pub fn stop(&self) -> Option<&Stop> {
        self.autopilot.stop.as_ref()
    }

    /// Stops waiting for anything, as if the file had just been opened. Approvals stay bound to the calls they were
    /// given for, and request numbers are not reused.
    pub(super) fn forget(&mut self) {
        let Self { work, last_request, judgement, .. } = std::mem::take(self);
        *self = Self { work: work.forgotten(), last_request, judgement: judgement.forgotten(), ..Self::default() };
    }

    /// Takes the next step. `sends_words` says whether what the user has typed at the end may be sent with results.
    fn advance(&mut self, sends_words: bool, step: &mut Step<'_>) {
        if self.is_busy() {
            return step.info("a reply or a tool is still running; Ctrl-C stops it");
        }
        self.autopilot.is_paused = false;
        self.sends_words = sends_words;
        self.autopilot.arm();
        if !step.view.tools_ready() {
            self.load(Deferred::Advance);
        } else if !step.view.open_states().is_empty() {
            if sends_words {
                say_what_waits(step);
            }
            self.begin_round(step);
        } else if let Some(departure) = leaving_with(step.view) {
            self.post(departure, step);
        } else {
            self.send(RequestKind::Reply, step);
        }
    }

    pub(super) fn load(&mut self, wanted: Deferred) {
        self.phase = Phase::Loading(wanted);
    }

    fn tools_ready(&mut self, step: &mut Step<'_>) {
        let Phase::Loading(wanted) = &self.phase else { return };
        let wanted = wanted.clone();
        self.phase = Phase::Idle;
        match wanted {
            Deferred::Advance => self.advance(self.sends_words, step),
            Deferred::Execute(call) => self.execute_one(&call, step),
            Deferred::Send(kind) => self.send(kind, step),
            Deferred::Outbox => self.outbox_changed(step),
        }
    }

    fn review(&mut self, step: &mut Step<'_>) {
        let after = match self.phase {
            Phase::Reviewing(after) => after,
            Phase::Executing if !self.round.is_done() => return self.go_on_with_round(step),
            _ => return,
        };
        let view = step.view;
        let (calls, settings) = (view.open_calls(), view.settings());
        let goes_on = settings.autopilot && self.autopilot.is_armed;
        match after {
            ReviewCause::AbortedReply => {
                if !settings.is_unattended {
                    self.settle_aborted(&calls, step);
                }
                self.end_turn(step);
            }
            ReviewCause::Reply | ReviewCause::PartOfReply if !calls.is_empty() => {
                if goes_on {
                    if self.stop().is_some() && calls.iter().any(|call| matches!(*call.input, ToolInput::Malformed(_)))
                    {
                        // The model would write the same again, and be cut off at the same place.
                        self.autopilot.pause();
                    }
                    self.begin_round(step);
                } else {
                    self.phase = Phase::Idle;
                }
            }
            ReviewCause::PartOfReply => self.send_on_autopilot(RequestKind::Continuation, step),
            ReviewCause::Reply if self.stop().is_some() || !self.autopilot.is_armed => self.end_turn(step),
            ReviewCause::Reply if view.outbox().is_ready => self.post(Departure::Next, step),
            ReviewCause::Reply => {
                // What the user is changing stays where it is.
                self.phase = Phase::Idle;
                step.push(Effect::OpenPrompt);
                step.push(Effect::Cursor(CursorReason::Prompt, None));
            }
            ReviewCause::Post => {
                // The user has sent it, as with a key.
                self.autopilot.arm();
                self.send(RequestKind::Reply, step);
            }
            ReviewCause::Decision if !view.tools_ready() => self.load(Deferred::Advance),
            ReviewCause::Decision if !calls.is_empty() => self.begin_round(step),
            ReviewCause::Round | ReviewCause::Decision if calls.is_empty() && goes_on => {
                if view.tail() == Tail::Unanswered && !self.sends_words && !settings.is_unattended {
                    self.give_up(RequestKind::Reply, step);
                    step.advise(Level::Info, WORDS_HELD, "Ctrl-] sends it.");
                } else if view.outbox().steers {
                    self.post(Departure::Steering, step);
                } else {
                    self.send_on_autopilot(RequestKind::Reply, step);
                }
            }
            ReviewCause::Round | ReviewCause::Decision => self.rest_at(&calls, step),
        }
    }

    /// Comes to rest where calls wait, or where nothing is to go on by itself.
    fn rest_at(&mut self, calls: &[OpenCall], step: &mut Step<'_>) {
        let is_users = |wait: Awaiting| wait.kind != AwaitKind::ClientExec;
        let waiting = calls.iter().find(|call| call.awaiting().is_some_and(is_users));
        let is_attended = waiting.is_some() && !step.view.settings().is_unattended;
        if is_attended && self.sends_words && step.view.tail() == Tail::Unanswered {
            let (what, advice) = match waiting {
                Some(call) if is_question(call) => ("question", ANSWER),
                _ => ("call", DECIDE),
            };
            step.advise(Level::Info, format!("Not sent: a {what} above waits."), advice);
        }
        self.phase = Phase::Idle;
        if let Some(call) = waiting {
            // It may be waiting only because its status is misspelt.
            step.push(Effect::Diagnose);
            step.push(Effect::Cursor(CursorReason::Pending, Some(call.id.clone())));
        } else if let Some(call) = calls.iter().find(|call| call.status() == Some(Status::Pending)) {
            step.push(Effect::Cursor(CursorReason::Awaited, Some(call.id.clone())));
        }
    }

    /// Ends the turn before its end and unlocks the buffer. If the document ends with part of a reply, a prompt is added.
    pub(super) fn give_up(&mut self, kind: RequestKind, step: &mut Step<'_>) {
        self.autopilot.is_armed = false;
        self.has_captured = false;
        match kind {
            RequestKind::Reply => self.rest_unsent(step),
            RequestKind::Continuation => self.end_turn(step),
        }
    }

    /// Comes to rest before anything is sent. What waits in the outbox is given back.
    pub(super) fn rest_unsent(&mut self, step: &mut Step<'_>) {
        self.autopilot.is_stopping = false;
        self.phase = Phase::Idle;
        if step.view.outbox().has_any {
            put_down(Departure::Unsent, step);
        }
    }

    /// Ends the turn after a reply that is not complete. What waits in the outbox was written for another end.
    fn end_turn(&mut self, step: &mut Step<'_>) {
        self.phase = Phase::Idle;
        step.push(Effect::OpenPrompt);
        if step.view.outbox().has_any {
            put_down(Departure::Unsent, step);
        } else {
            step.push(Effect::Cursor(CursorReason::Prompt, None));
        }
    }

    fn cancel(&mut self, step: &mut Step<'_>) {
        self.autopilot.is_armed = false;
        match self.phase {
            Phase::Idle if step.view.outbox().has_any => put_down(Departure::Unsent, step),
            Phase::Idle => step.info("nothing is running here"),
            Phase::Loading(ref wanted) => {
                let kind = if let Deferred::Send(kind) = wanted { *kind } else { RequestKind::Reply };
                step.info("cancelled: nothing was sent or run");
                self.give_up(kind, step);
            }
            Phase::Capturing(kind) => {
                step.info("cancelled: nothing was sent");
                self.give_up(kind, step);
            }
            Phase::Requesting { request, kind, .. } | Phase::BackingOff { request, kind, .. } => {
                step.push(Effect::Abort(request));
                step.info("request cancelled");
                self.give_up(kind, step);
            }
            Phase::Streaming { request, .. } => {
                // What comes with the answer to it may be the end of the reply.
                self.cut_off = None;
                step.push(Effect::Abort(request));
            }
            // A review comes before any key press, so there is something to stop here only if its own step failed.
            Phase::Reviewing(_) | Phase::Executing => {
                if self.work.running.is_empty() && self.judgement.is_open() {
                    step.info("cancelled: nothing was sent or run");
                }
                self.round = Round::default();
                self.stop_tools(step);
                self.autopilot.is_stopping = !self.work.running.is_empty();
                if !self.autopilot.is_stopping {
                    self.rest_unsent(step);
                }
            }
        }
    }

    /// The outbox has changed. Nothing of it goes out while anything is at work or waits for somebody, and not together with
    /// what the user has not sent.
    fn outbox_changed(&mut self, step: &mut Step<'_>) {
        if self.is_busy() || !step.view.outbox().is_ready || !step.view.open_states().is_empty() {
            return;
        }
        if !step.view.tools_ready() {
            return self.load(Deferred::Outbox);
        }
        match step.view.tail() {
            Tail::Results => {}
            Tail::Unanswered => put_down(Departure::Unsent, step),
            Tail::Nothing | Tail::Reply | Tail::CutOff => {
                self.autopilot.is_paused = false;
                self.post(Departure::Next, step);
            }
        }
    }

    /// A turn does not come. Where nobody waits for anything, what is queued would wait for ever.
    fn released(&mut self, step: &mut Step<'_>) {
        let view = step.view;
        let is_over = !self.is_busy() && view.open_states().is_empty() && view.tail() != Tail::Results;
        if is_over && view.outbox().has_any {
            put_down(Departure::Unsent, step);
        }
    }

    /// Writes what leaves the outbox, and sends it.
    fn post(&mut self, departure: Departure, step: &mut Step<'_>) {
        step.push(Effect::UndoStep);
        step.push(Effect::Post(departure));
        self.review_after(ReviewCause::Post, step);
    }
}

/// Writes what leaves the outbox under the prompt, and does not send it.
fn put_down(departure: Departure, step: &mut Step<'_>) {
    step.push(Effect::UndoStep);
    step.push(Effect::Post(departure));
    step.push(Effect::Cursor(CursorReason::Prompt, None));
}

/// What leaves the outbox with a key that sends: what steers together with results, and the next message if nothing else
/// would be sent.
fn leaving_with(view: &dyn View) -> Option<Departure> {
    let outbox = view.outbox();
    match view.tail() {
        Tail::Results if outbox.is_ready && outbox.steers => Some(Departure::Steering),
        Tail::Nothing | Tail::Reply if outbox.is_ready => Some(Departure::Next),
        _ => None,
    }
}

/// What the user can do about a question that waits, and about any other call.
const ANSWER: &str = "Alt-Enter answers it.";
const DECIDE: &str = "gA approves it, gX rejects it.";

fn is_question(call: &OpenCall) -> bool {
    call.awaiting().is_some_and(|wait| wait.kind == AwaitKind::Elicitation)
}

/// A key that takes the next step changes nothing where all calls wait for the user: says what does.
fn say_what_waits(step: &mut Step<'_>) {
    let (view, calls) = (step.view, step.view.open_calls());
    // What the editor was to run and does not run waits for the user as well.
    let waits =
        |call: &OpenCall| call.status() == Some(Status::Pending) && !view.is_offered(call) && call.typed().is_empty();
    // What is written below them has a message of its own.
    if view.settings().is_unattended || view.tail() == Tail::Unanswered || !calls.iter().all(waits) {
        return;
    }
    let (words, advice) = match &calls[..] {
        [call] if is_question(call) => (format!("`{}` waits.", call.name), ANSWER),
        [call] => (format!("`{}` waits.", call.name), DECIDE),
        calls => (format!("{} calls wait.", calls.len()), "]w goes there, gA approves, gX rejects."),
    };
    step.advise(Level::Info, words, advice);
}
