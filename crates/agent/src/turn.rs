//! The state machine of requests.
//!
//! [`Agent::step`] dispatches by input. Keys and ends are handled here, requests in `request.rs`, tool calls in `round.rs`, and
//! what the user has queued in `departures.rs`. Two rules hold after every step: the buffer is locked exactly while Flemma may
//! still write to it, and no request is sent while a call is open.
//!
//! A step sees the document as it was before its own effects. If the next decision depends on the document after them
//! (which calls did the reply make?), the step ends with [`Effect::Review`].

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{
    Activity, Cursor, Departure, Effect, Input, Level, RequestKind, Stop,
    guard::LoopGuard,
    phase::{Deferred, Phase, ReviewCause, Round},
    view::View,
};
use flemma_chat::{AwaitKind, OpenCall, Status, Tail};
use flemma_model::{CallId, ToolInput};

const WORDS_HELD: &str = "All calls have their results, and your text below them was not sent.";

const WORDS_WAIT: &str = "Your text was not sent, because a call above it waits for you.";

/// The state of one conversation that is not in its document.
#[derive(Debug, Default)]
pub struct Agent {
    pub(super) phase: Phase,
    pub(super) running: BTreeMap<CallId, OpenCall>,
    pub(super) queue: VecDeque<OpenCall>,
    /// Approved calls. A call runs only while its name and input are still these.
    pub(super) approvals: BTreeMap<CallId, (String, Arc<ToolInput>)>,
    /// What is left to do of a round, while there is another step for it.
    pub(super) round: Round,
    /// Whether autopilot may continue by itself. A key press arms it, a stop disarms it.
    pub(super) armed: bool,
    /// Whether the user has stopped everything, and calls that are changing files have not ended yet.
    pub(super) is_stopping: bool,
    /// Whether the user was told to press Ctrl-] to continue. Until they do, no decision arms autopilot.
    pub(super) is_paused: bool,
    pub(super) guard: LoopGuard,
    /// What the model is told of the calls of a reply that was cut off because of what it did.
    pub(super) cut_off: Option<String>,
    /// Requests since the last key press.
    pub(super) turns: u32,
    pub(super) last_request: u64,
    locked: bool,
    /// Whether what the user has typed at the end is sent with the results: they have pressed the key that sends since. At rest
    /// they may type on, so that it counts no longer.
    sends_words: bool,
    /// Why it came to rest, since the last key press.
    pub(super) stop: Option<Stop>,
    /// Whether references were captured for the request, in a step of undo that the reply belongs to.
    pub(super) has_captured: bool,
}

impl Agent {
    /// Handles one input and returns the effects.
    pub fn step(&mut self, input: Input, view: &dyn View) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Advance => self.advance(true, view, &mut effects),
            Input::CarryOn => self.advance(false, view, &mut effects),
            Input::Execute(call) if !view.tools_ready() && !self.is_busy() => self.load(Deferred::Execute(call)),
            Input::Execute(call) => self.execute_one(&call, view, &mut effects),
            Input::Decide(calls, choice, step) => self.decide(&calls, &choice, step, view, &mut effects),
            Input::ToolsReady => self.tools_ready(view, &mut effects),
            Input::Cancel => self.cancel(view, &mut effects),
            Input::CancelTool(call) => self.cancel_tool(&call, view, &mut effects),
            Input::CancelTools => self.cancel_tools(view, &mut effects),
            Input::Event { request, event } => self.event(request, event, view, &mut effects),
            Input::Failed { request, error, jitter } => self.failed(request, &error, jitter, view, &mut effects),
            Input::BackoffOver { request } => self.backoff_over(request, &mut effects),
            Input::Review => self.review(view, &mut effects),
            Input::ToolFinished { call, answer } => self.tool_finished(&call, answer, view, &mut effects),
            Input::NotStarted { call, problem } => self.not_started(&call, &problem, view, &mut effects),
            Input::Outdated { call, problem } => self.outdated(&call, &problem, view, &mut effects),
            Input::Refused(call) => self.refused(&call, view, &mut effects),
            Input::Proposed(call) => self.propose(&call, view, &mut effects),
            Input::KeepApproved(calls) => self.keep_approved(&calls, view, &mut effects),
            Input::GoOn(call) => self.go_on(&call, view, &mut effects),
            Input::Resolve { call, answer, by } => self.resolve(&call, answer, by, view, &mut effects),
            Input::Outbox => self.outbox_changed(view, &mut effects),
            Input::Released => self.released(view, &mut effects),
            Input::PutDown if !self.is_busy() => self.put_down(Departure::Returned, &mut effects),
            Input::PutDown => {}
            Input::Recover(calls) => self.recover(&calls, view, &mut effects),
            Input::Captured(outcome) => self.captured(outcome, view, &mut effects),
        }
        self.sends_words &= self.is_busy();
        if self.is_busy() != self.locked {
            self.locked = !self.locked;
            // The buffer is locked before the step's writes and unlocked after them.
            let at = if self.locked { 0 } else { effects.len() };
            effects.insert(at, Effect::Lock(self.locked));
        }
        effects
    }

    /// Whether Flemma may still write to the buffer.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// What the conversation is doing.
    #[must_use]
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
            Phase::Executing => Activity::Executing { running: self.running.len() },
        }
    }

    /// The calls that are running.
    pub fn running(&self) -> impl Iterator<Item = &OpenCall> {
        self.running.values()
    }

    /// Whether a request is running or about to be sent.
    pub(super) fn has_request(&self) -> bool {
        matches!(
            self.phase,
            Phase::Loading(_)
                | Phase::Capturing(_)
                | Phase::Requesting { .. }
                | Phase::BackingOff { .. }
                | Phase::Streaming { .. }
        )
    }

    pub(super) fn execute(&mut self) {
        self.phase = Phase::Executing;
    }

    pub(super) fn rest(&mut self) {
        self.phase = Phase::Idle;
    }

    pub(super) fn review_after(&mut self, after: ReviewCause, effects: &mut Vec<Effect>) {
        self.phase = Phase::Reviewing(after);
        effects.push(Effect::Review);
    }

    /// Handles a key press: autopilot may continue from here, unless a pause was announced.
    pub(super) fn arm(&mut self) {
        self.armed = !self.is_paused;
        self.reset_counters();
    }

    /// Why the conversation came to rest before its end, since the last key press.
    #[must_use]
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Restarts the counters that limit what happens without the user, who has pressed a key.
    pub(super) fn reset_counters(&mut self) {
        self.is_stopping = false;
        self.stop = None;
        self.turns = 0;
        self.guard = LoopGuard::default();
    }

    /// Stops waiting for anything, as if the file had just been opened. Approvals stay bound to the calls they were
    /// given for, and request numbers are not reused.
    pub(super) fn forget(&mut self) {
        let approvals = std::mem::take(&mut self.approvals);
        *self = Self { approvals, last_request: self.last_request, ..Self::default() };
    }

    /// Takes the next step. `sends_words` says whether what the user has typed at the end may be sent with results.
    fn advance(&mut self, sends_words: bool, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.is_busy() {
            effects.push(Effect::Notify(Level::Info, "a reply or a tool is still running; Ctrl-C stops it".into()));
            return;
        }
        self.is_paused = false;
        self.sends_words = sends_words;
        self.arm();
        if !view.tools_ready() {
            self.load(Deferred::Advance);
        } else if !view.open_states().is_empty() {
            if sends_words {
                say_what_waits(view, effects);
            }
            self.begin_round(view, effects);
        } else if let Some(departure) = Self::leaving_with(view) {
            self.post(departure, effects);
        } else {
            self.send(RequestKind::Reply, view, effects);
        }
    }

    pub(super) fn load(&mut self, wanted: Deferred) {
        self.phase = Phase::Loading(wanted);
    }

    fn tools_ready(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let Phase::Loading(wanted) = &self.phase else { return };
        let wanted = wanted.clone();
        self.rest();
        match wanted {
            Deferred::Advance => self.advance(self.sends_words, view, effects),
            Deferred::Execute(call) => self.execute_one(&call, view, effects),
            Deferred::Send(kind) => self.send(kind, view, effects),
            Deferred::Outbox => self.outbox_changed(view, effects),
        }
    }

    fn review(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let Phase::Reviewing(after) = self.phase else { return };
        let calls = view.open_calls();
        let settings = view.settings();
        match after {
            ReviewCause::AbortedReply => {
                if !settings.is_unattended {
                    self.settle_aborted(&calls, effects);
                }
                self.end_turn(view, effects);
            }
            ReviewCause::PartOfRound => self.go_on_with_round(view, effects),
            ReviewCause::Reply | ReviewCause::PartOfReply if !calls.is_empty() => {
                if settings.autopilot && self.armed {
                    self.begin_round(view, effects);
                } else {
                    self.rest();
                }
            }
            ReviewCause::PartOfReply => self.send_on_autopilot(RequestKind::Continuation, view, effects),
            ReviewCause::Reply if self.stop.is_none() && view.outbox().is_ready => self.post(Departure::Next, effects),
            ReviewCause::Reply if self.stop.is_none() => {
                // What the user is changing stays where it is.
                self.rest();
                effects.push(Effect::OpenPrompt);
                effects.push(Effect::Cursor(Cursor::Prompt));
            }
            ReviewCause::Reply => self.end_turn(view, effects),
            ReviewCause::Post => {
                // The user has sent it, as with a key.
                self.arm();
                self.send(RequestKind::Reply, view, effects);
            }
            ReviewCause::Decision if !view.tools_ready() => self.load(Deferred::Advance),
            ReviewCause::Decision if !calls.is_empty() => self.begin_round(view, effects),
            ReviewCause::Round | ReviewCause::Decision if calls.is_empty() && settings.autopilot && self.armed => {
                if view.tail() == Tail::Unanswered && !self.sends_words && !settings.is_unattended {
                    self.give_up(RequestKind::Reply, view, effects);
                    effects.push(Effect::Advise(Level::Info, WORDS_HELD.into(), "Press Ctrl-] to send it."));
                } else if view.outbox().steers {
                    self.post(Departure::Steering, effects);
                } else {
                    self.send_on_autopilot(RequestKind::Reply, view, effects);
                }
            }
            ReviewCause::Round | ReviewCause::Decision => {
                let waits = calls.iter().any(waits_for_user) && !settings.is_unattended;
                if waits && self.sends_words && view.tail() == Tail::Unanswered {
                    effects.push(Effect::Advise(Level::Info, WORDS_WAIT.into(), "Approve or reject it first."));
                }
                self.rest();
                if let Some(call) = calls.iter().find(|call| waits_for_user(call)) {
                    // It may be waiting only because its status is misspelt.
                    effects.push(Effect::Diagnose);
                    effects.push(Effect::Cursor(Cursor::Pending(call.id.clone())));
                } else if let Some(call) = calls.into_iter().find(is_pending) {
                    effects.push(Effect::Cursor(Cursor::Awaited(call.id)));
                }
            }
        }
    }

    /// Ends the turn before its end and unlocks the buffer. If the document ends with part of a reply, a prompt is added.
    pub(super) fn give_up(&mut self, kind: RequestKind, view: &dyn View, effects: &mut Vec<Effect>) {
        self.armed = false;
        self.has_captured = false;
        match kind {
            RequestKind::Reply => self.rest_unsent(view, effects),
            RequestKind::Continuation => self.end_turn(view, effects),
        }
    }

    /// Comes to rest before anything is sent. What waits in the outbox is given back.
    pub(super) fn rest_unsent(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        self.is_stopping = false;
        self.rest();
        if view.outbox().has_any {
            self.put_down(Departure::Unsent, effects);
        }
    }

    /// Ends the turn after a reply that is not complete. What waits in the outbox was written for another end.
    pub(super) fn end_turn(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        self.rest();
        effects.push(Effect::OpenPrompt);
        if view.outbox().has_any {
            self.put_down(Departure::Unsent, effects);
        } else {
            effects.push(Effect::Cursor(Cursor::Prompt));
        }
    }

    fn cancel(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        self.armed = false;
        match self.phase {
            Phase::Idle if view.outbox().has_any => self.put_down(Departure::Unsent, effects),
            Phase::Idle => {
                effects.push(Effect::Notify(Level::Info, "nothing is running here".into()));
            }
            Phase::Loading(ref wanted) => {
                let kind = if let Deferred::Send(kind) = wanted { *kind } else { RequestKind::Reply };
                effects.push(Effect::Notify(Level::Info, "cancelled: nothing was sent or run".into()));
                self.give_up(kind, view, effects);
            }
            Phase::Capturing(kind) => {
                effects.push(Effect::Notify(Level::Info, "cancelled: nothing was sent".into()));
                self.give_up(kind, view, effects);
            }
            Phase::Requesting { request, kind, .. } | Phase::BackingOff { request, kind, .. } => {
                effects.push(Effect::Abort(request));
                effects.push(Effect::Notify(Level::Info, "request cancelled".into()));
                self.give_up(kind, view, effects);
            }
            Phase::Streaming { request, .. } => {
                self.cut_off = None;
                effects.push(Effect::Abort(request));
                effects.push(Effect::CloseReply { aborted: true });
                self.review_after(ReviewCause::AbortedReply, effects);
            }
            // A review comes before any key press, so there is something to stop here only if its own step failed.
            Phase::Reviewing(_) | Phase::Executing => {
                self.stop_tools(view, effects);
                self.is_stopping = !self.running.is_empty();
                if !self.is_stopping {
                    self.rest_unsent(view, effects);
                }
            }
        }
    }
}

/// Whether a call waits for somebody.
fn is_pending(call: &OpenCall) -> bool {
    call.placeholder.as_ref().is_some_and(|placeholder| placeholder.block.status == Status::Pending)
}

/// A key that takes the next step changes nothing where all calls wait for the user: says what does.
fn say_what_waits(view: &dyn View, effects: &mut Vec<Effect>) {
    let calls = view.open_calls();
    let has_answer =
        |call: &OpenCall| call.placeholder.as_ref().is_some_and(|placeholder| !placeholder.content.is_empty());
    // What the editor was to run and does not run waits for the user as well.
    let waits = |call: &OpenCall| is_pending(call) && !view.is_offered(call) && !has_answer(call);
    // What is written below them has a message of its own.
    if view.settings().is_unattended || view.tail() == Tail::Unanswered || !calls.iter().all(waits) {
        return;
    }
    let asks = |call: &OpenCall| {
        call.placeholder.as_ref().is_some_and(|at| at.block.awaiting().kind == AwaitKind::Elicitation)
    };
    let (words, advice) = match &calls[..] {
        [call] if asks(call) => (format!("`{}` waits for your answer.", call.name), "Alt-Enter opens the form."),
        [call] => (format!("`{}` waits for you.", call.name), "Alt-Enter runs it, `:Flemma tool:reject` rejects it."),
        calls => (
            format!("{} calls wait for you.", calls.len()),
            "Alt-Enter runs the one under the cursor, `:Flemma tool:reject` rejects it.",
        ),
    };
    effects.push(Effect::Advise(Level::Info, words, advice));
}

/// Whether a call waits for the user.
pub(super) fn waits_for_user(call: &OpenCall) -> bool {
    let kind = call.placeholder.as_ref().map(|placeholder| placeholder.block.kind());
    is_pending(call) && kind != Some(AwaitKind::ClientExec)
}
