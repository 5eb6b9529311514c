//! The state machine of requests.
//!
//! [`Agent::step`] dispatches by input. Requests are handled here, tool calls in `round.rs`. Two rules hold after every
//! step: the buffer is locked exactly while Flemma may still write to it, and no request is sent while a call is open.
//!
//! A step sees the document as it was before its own effects. If the next decision depends on the document after them
//! (which calls did the reply make?), the step ends with [`Effect::Review`].

use std::collections::{BTreeMap, VecDeque};

use super::{
    Activity, CallResult, Cursor, Departure, Effect, Input, Level, Outbox, RequestId, RequestKind, Stop,
    guard::LoopGuard, rejection::rejection,
};
use crate::{
    chat::{AwaitKind, OpenCall, Status, Tail},
    model::{CallId, Event, ModelError, StopReason, ToolInput, UserError},
    provider::{ProviderError, retry},
};

/// What a step can see: the document and the policies in their current state.
pub trait View {
    /// The calls without a result, in the document's order.
    fn open_calls(&self) -> Vec<OpenCall>;

    /// The verdict of the policies on a call.
    fn verdict(&self, call: &OpenCall) -> Verdict;

    /// The result of a call that has ended, if the user's journal has it and the document lacks it. Such a call never runs
    /// again.
    fn recorded(&self, call: &OpenCall) -> Option<CallResult>;

    /// What a call that may run waits for, if this process does not run it itself.
    fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind>;

    /// Whether the editor's user interface runs a call now.
    fn is_offered(&self, call: &OpenCall) -> bool;

    /// Whether a call was started and it is not known whether it has ended.
    fn is_interrupted(&self, call: &OpenCall) -> bool;

    /// The result of a call that the user rejects, for this reason.
    fn rejection(&self, call: &OpenCall, reason: Option<&str>) -> CallResult {
        rejection(call, reason, self.is_interrupted(call), |_| None)
    }

    /// Whether a call was started, and waits for a decision about what it wants to write.
    fn has_proposed(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether a call was started in its life, which may have ended since with the words that the user typed.
    fn has_begun(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether the status in the call's block counts: it was written in this session, by the user's own edit or after a
    /// decision, or the user's journal has the decision.
    fn is_authorised(&self, call: &OpenCall) -> bool;

    /// Whether all tool sources have loaded. Nothing is decided or sent before.
    fn tools_ready(&self) -> bool;

    /// Whether the user's message has references whose content is not captured yet.
    fn has_uncaptured(&self) -> bool {
        false
    }

    /// The first error of the document, if it cannot be sent or cannot take a result: `line 7: …`.
    fn fault(&self) -> Option<String>;

    /// What the user has written while the conversation was at work.
    fn outbox(&self) -> Outbox {
        Outbox::default()
    }

    /// What the document ends with.
    fn tail(&self) -> Tail {
        Tail::Unanswered
    }

    /// The options of this conversation.
    fn settings(&self) -> Settings;
}

/// The verdict of the policies on one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Run it.
    Run,
    /// Ask the user.
    Ask,
    /// A policy forbids it. The model is told so.
    Deny,
    /// It cannot run: the tool does not exist, or the input does not match its schema. The text tells the model how to
    /// fix it.
    Invalid(ModelError),
}

/// The options that the state machine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether autopilot is on.
    pub autopilot: bool,
    /// The maximum number of requests after one key press.
    pub max_turns: u32,
    /// The maximum number of tools that run at once; 0 counts as 1.
    pub max_concurrent: usize,
    /// Whether no user looks at the conversation. What is stopped then goes on with whoever carries it on next: a call that
    /// was running gets no result, nor do the calls of a reply that was cut off, which is asked for again.
    pub is_unattended: bool,
}

/// What the agent is waiting for.
#[derive(Clone, Debug, Default, PartialEq)]
enum Phase {
    /// Nothing. Calls may be pending.
    #[default]
    Idle,
    /// The tool sources. Then it does what the user asked for.
    Loading(Deferred),
    /// What the references in the user's message mean. Then the request is sent.
    Capturing(RequestKind),
    /// A reply of which nothing is shown yet, so that a retry is invisible.
    Requesting { request: RequestId, kind: RequestKind, attempt: u32 },
    /// The pause before a retry.
    BackingOff { request: RequestId, kind: RequestKind, attempt: u32, reason: String },
    /// The rest of a reply.
    Streaming { request: RequestId, activity: Activity },
    /// Its own effects, after which it reviews the document.
    Reviewing(ReviewCause),
    /// Tools.
    Executing,
}

/// What is deferred until the tools have loaded.
#[derive(Clone, Debug, PartialEq)]
enum Deferred {
    Advance,
    Execute(CallId),
    Send(RequestKind),
    Outbox,
}

/// What a review follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewCause {
    /// A complete reply.
    Reply,
    /// A complete part of a reply. The rest is requested at once.
    PartOfReply,
    /// An aborted reply.
    AbortedReply,
    /// A round of tools.
    Round,
    /// The user's decision about the last pending call.
    Decision,
    /// A message that has left the outbox.
    Post,
}

/// The state of one conversation that is not in its document.
#[derive(Debug, Default)]
pub struct Agent {
    phase: Phase,
    pub(super) running: BTreeMap<CallId, OpenCall>,
    pub(super) queue: VecDeque<OpenCall>,
    /// Approved calls. A call runs only while its name and input are still these.
    pub(super) approvals: BTreeMap<CallId, (String, ToolInput)>,
    /// Whether autopilot may continue by itself. A key press arms it, a stop disarms it.
    pub(super) armed: bool,
    /// Whether the user was told to press Ctrl-] to continue. Until they do, no decision arms autopilot.
    pub(super) is_paused: bool,
    pub(super) guard: LoopGuard,
    /// What the model is told of the calls of a reply that was cut off because of what it did.
    pub(super) cut_off: Option<String>,
    /// Requests since the last key press.
    turns: u32,
    last_request: u64,
    locked: bool,
    /// Why it came to rest, since the last key press.
    stop: Option<Stop>,
    /// Whether references were captured for the request, in a step of undo that the reply belongs to.
    has_captured: bool,
}

impl Agent {
    /// Handles one input and returns the effects.
    pub fn step(&mut self, input: Input, view: &dyn View) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Advance => self.advance(view, &mut effects),
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
            Input::Proposed(call) => self.propose(&call, view, &mut effects),
            Input::GoOn(call) => self.go_on(&call, view, &mut effects),
            Input::Resolve { call, answer, by } => self.resolve(&call, answer, by, view, &mut effects),
            Input::Outbox => self.outbox_changed(view, &mut effects),
            Input::Released => self.released(view, &mut effects),
            Input::PutDown if !self.is_busy() => self.put_down(Departure::Returned, &mut effects),
            Input::PutDown => {}
            Input::Recover(calls) => self.recover(&calls, view, &mut effects),
            Input::Captured(outcome) => self.captured(outcome, view, &mut effects),
        }
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

    /// Restarts the counters that limit what happens without the user.
    pub(super) fn reset_counters(&mut self) {
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

    fn advance(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.is_busy() {
            effects.push(Effect::Notify(Level::Info, "a reply or a tool is still running; Ctrl-C stops it".into()));
            return;
        }
        self.is_paused = false;
        self.arm();
        if !view.tools_ready() {
            self.load(Deferred::Advance);
        } else if !view.open_calls().is_empty() {
            self.begin_round(view, effects);
        } else if let Some(departure) = leaving_with(view) {
            self.post(departure, effects);
        } else {
            self.send(RequestKind::Reply, view, effects);
        }
    }

    /// The outbox has changed. Nothing of it goes out while anything is at work or waits for somebody, and not together with
    /// what the user has not sent.
    fn outbox_changed(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.is_busy() || !view.outbox().is_ready || !view.open_calls().is_empty() {
            return;
        }
        if !view.tools_ready() {
            return self.load(Deferred::Outbox);
        }
        match view.tail() {
            Tail::Results => {}
            Tail::Unanswered => self.put_down(Departure::Unsent, effects),
            Tail::Nothing | Tail::Reply | Tail::CutOff => {
                self.is_paused = false;
                self.post(Departure::Next, effects);
            }
        }
    }

    /// The user has left a message as it was. Where nobody waits for anything, it would wait for ever.
    fn released(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let is_over = !self.is_busy() && view.open_calls().is_empty() && view.tail() != Tail::Results;
        if is_over && view.outbox().has_any {
            self.put_down(Departure::Unsent, effects);
        }
    }

    /// Writes what leaves the outbox, and sends it.
    fn post(&mut self, departure: Departure, effects: &mut Vec<Effect>) {
        effects.push(Effect::UndoStep);
        effects.push(Effect::Post(departure));
        self.review_after(ReviewCause::Post, effects);
    }

    /// Writes what leaves the outbox under the prompt, and does not send it.
    fn put_down(&mut self, departure: Departure, effects: &mut Vec<Effect>) {
        effects.push(Effect::UndoStep);
        effects.push(Effect::Post(departure));
        effects.push(Effect::Cursor(Cursor::Prompt));
    }

    fn load(&mut self, wanted: Deferred) {
        self.phase = Phase::Loading(wanted);
    }

    fn tools_ready(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let Phase::Loading(wanted) = &self.phase else { return };
        let wanted = wanted.clone();
        self.rest();
        match wanted {
            Deferred::Advance => self.advance(view, effects),
            Deferred::Execute(call) => self.execute_one(&call, view, effects),
            Deferred::Send(kind) => self.send(kind, view, effects),
            Deferred::Outbox => self.outbox_changed(view, effects),
        }
    }

    /// Sends the conversation. No call is open.
    fn send(&mut self, kind: RequestKind, view: &dyn View, effects: &mut Vec<Effect>) {
        if !view.tools_ready() {
            self.load(Deferred::Send(kind));
            return;
        }
        // A document with an error is not sent, and what it refers to is not looked at.
        if view.has_uncaptured() && view.fault().is_none() {
            self.phase = Phase::Capturing(kind);
            effects.push(Effect::Capture);
            return;
        }
        self.request(kind, effects);
    }

    /// What the references in the user's message mean is known, or why it is not.
    fn captured(&mut self, outcome: Result<(), UserError>, view: &dyn View, effects: &mut Vec<Effect>) {
        let Phase::Capturing(kind) = self.phase else { return };
        match outcome {
            Ok(()) => {
                self.has_captured = true;
                effects.push(Effect::UndoStep);
                effects.push(Effect::WriteCaptures);
                self.request(kind, effects);
            }
            Err(problem) => {
                self.give_up(kind, view, effects);
                effects.push(Effect::Diagnose);
                effects.push(Effect::Notify(Level::Error, problem.to_string()));
            }
        }
    }

    fn request(&mut self, kind: RequestKind, effects: &mut Vec<Effect>) {
        self.turns += 1;
        self.last_request += 1;
        let request = RequestId(self.last_request);
        self.phase = Phase::Requesting { request, kind, attempt: 1 };
        effects.push(Effect::Send(request, kind));
    }

    /// Sends without a key press, unless a limit is reached.
    fn send_on_autopilot(&mut self, kind: RequestKind, view: &dyn View, effects: &mut Vec<Effect>) {
        let settings = view.settings();
        self.stop = if self.turns >= settings.max_turns {
            Some(Stop::TurnLimit(settings.max_turns))
        } else {
            self.guard.end_round().map(Stop::Repetition)
        };
        let Some(stop) = self.stop.clone() else { return self.send(kind, view, effects) };
        self.give_up(kind, view, effects);
        effects.push(Effect::Stopped(stop));
    }

    fn event(&mut self, request: RequestId, event: Event, view: &dyn View, effects: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Requesting { request: current, .. } | Phase::Streaming { request: current, .. }
                if *current == request => {}
            _ => return,
        }
        let activity = match &event {
            Event::Finished(reason) => return self.finished(reason, view, effects),
            // Shows nothing, so a retry would still be invisible.
            Event::Usage(usage) => {
                effects.push(Effect::Used(*usage));
                return;
            }
            Event::Text(_) => Activity::Writing,
            Event::ThinkingStarted | Event::Thinking(_) => Activity::Thinking,
            Event::ToolUseProgress { name, bytes } => Activity::Calling { tool: name.clone(), bytes: *bytes },
            Event::HostedUse { name, .. } => Activity::Hosting { tool: name.clone() },
            Event::ThinkingFinished { .. }
            | Event::RedactedThinking(_)
            | Event::ToolUse { .. }
            | Event::HostedResult { .. }
            | Event::Citations { .. } => Activity::Waiting,
        };
        if let Phase::Requesting { .. } = self.phase {
            if !std::mem::take(&mut self.has_captured) {
                effects.push(Effect::UndoStep);
            }
            effects.push(Effect::OpenReply);
        }
        self.phase = Phase::Streaming { request, activity };
        effects.push(Effect::Write(event));
    }

    fn finished(&mut self, reason: &StopReason, view: &dyn View, effects: &mut Vec<Effect>) {
        let stopped = match reason {
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Pause => None,
            StopReason::MaxTokens => Some(
                "The reply was cut off at max_tokens; raise parameters.max_tokens, or ask the model to continue."
                    .to_owned(),
            ),
            StopReason::ContextFull => Some(
                "The reply was cut off: the model's context is full, and a higher max_tokens would not help. \
                 Shorten the conversation, or give the server a larger context."
                    .to_owned(),
            ),
            StopReason::Blocked(reason) => Some(format!("The provider ended the reply: it was blocked ({reason}).")),
            StopReason::Refusal => Some("The provider ended the reply: the model refused to continue.".to_owned()),
            StopReason::Other(reason) => Some(format!("The provider ended the reply: {reason}.")),
        };
        self.stop = stopped.is_some().then_some(Stop::Incomplete);
        if matches!(reason, StopReason::Refusal | StopReason::Blocked(_)) {
            // Calls before that must not run without the user.
            self.armed = false;
        }
        if let Phase::Requesting { kind, .. } = self.phase {
            self.give_up(kind, view, effects);
            effects.push(match stopped {
                Some(message) => Effect::Notify(Level::Warn, message),
                None => {
                    let message = "The model's reply was empty.".to_owned();
                    Effect::Advise(Level::Warn, message, "Press Ctrl-] to ask again.")
                }
            });
            return;
        }
        if let Some(message) = stopped {
            effects.push(Effect::Notify(Level::Warn, message));
        }
        effects.push(Effect::CloseReply { aborted: false });
        let after = if *reason == StopReason::Pause { ReviewCause::PartOfReply } else { ReviewCause::Reply };
        self.review_after(after, effects);
    }

    fn failed(
        &mut self,
        request: RequestId,
        error: &ProviderError,
        jitter: f64,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        match &self.phase {
            Phase::Requesting { request: current, kind, attempt } if *current == request => {
                let (kind, attempt) = (*kind, *attempt);
                match retry::delay(attempt, error, false, jitter) {
                    Some(pause) => {
                        self.phase = Phase::BackingOff { request, kind, attempt, reason: error.to_string() };
                        effects.push(Effect::Backoff(request, pause));
                    }
                    None => {
                        self.give_up(kind, view, effects);
                        effects.push(Effect::Notify(Level::Error, error.to_string()));
                    }
                }
            }
            Phase::Streaming { request: current, .. } if *current == request => {
                self.armed = false;
                self.cut_off.clone_from(&error.for_model);
                effects.push(Effect::CloseReply { aborted: true });
                effects.push(Effect::Notify(Level::Error, error.to_string()));
                self.review_after(ReviewCause::AbortedReply, effects);
            }
            _ => {}
        }
    }

    fn backoff_over(&mut self, request: RequestId, effects: &mut Vec<Effect>) {
        if let Phase::BackingOff { request: current, kind, attempt, .. } = self.phase
            && current == request
        {
            self.phase = Phase::Requesting { request, kind, attempt: attempt + 1 };
            effects.push(Effect::Send(request, kind));
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
                if view.outbox().steers {
                    return self.post(Departure::Steering, effects);
                }
                self.send_on_autopilot(RequestKind::Reply, view, effects);
            }
            ReviewCause::Round | ReviewCause::Decision => {
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
    fn give_up(&mut self, kind: RequestKind, view: &dyn View, effects: &mut Vec<Effect>) {
        self.armed = false;
        self.has_captured = false;
        match kind {
            RequestKind::Reply => {
                self.rest();
                if view.outbox().has_any {
                    self.put_down(Departure::Unsent, effects);
                }
            }
            RequestKind::Continuation => self.end_turn(view, effects),
        }
    }

    /// Ends the turn after a reply that is not complete. What waits in the outbox was written for another end.
    fn end_turn(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
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
                self.stop_tools(view.settings(), effects);
                if view.outbox().has_any {
                    self.put_down(Departure::Unsent, effects);
                }
            }
        }
    }
}

/// What leaves the outbox with a key that sends: what steers together with results, and the next message if nothing else
/// would be sent.
fn leaving_with(view: &dyn View) -> Option<Departure> {
    let outbox = view.outbox();
    if !outbox.is_ready {
        return None;
    }
    match view.tail() {
        Tail::Results => outbox.steers.then_some(Departure::Steering),
        Tail::Nothing | Tail::Reply => Some(Departure::Next),
        Tail::Unanswered | Tail::CutOff => None,
    }
}

/// Whether a call waits for somebody.
fn is_pending(call: &OpenCall) -> bool {
    call.placeholder.as_ref().is_some_and(|placeholder| placeholder.block.status == Status::Pending)
}

/// Whether a call waits for the user.
pub(super) fn waits_for_user(call: &OpenCall) -> bool {
    let kind = call.placeholder.as_ref().map(|placeholder| placeholder.block.awaiting().kind);
    is_pending(call) && kind != Some(AwaitKind::ClientExec)
}
