//! A round: what happens to the tool calls of a reply.
//!
//! *Categorise* (`categorise.rs`) writes a status block for each call without one. *Execute* reads every block: `approved` runs, `denied`
//! and `rejected` become error results (the text in a rejected block is the reason), text that the user typed in any
//! other block becomes the result, `pending` waits. When the last tool of the round has finished, the document is
//! reviewed.
//!
//! No round begins in a document with an error: it could not be sent, and results might not fit into it.

use std::collections::HashMap;

use super::{
    Agent, CallResult, Cursor, Effect, Level, Placement,
    phase::{ReviewCause, Round},
    rejection::own_words,
    view::{Settings, Verdict, View},
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

impl Agent {
    /// Categorises, and then executes unless the user has to look first.
    pub(super) fn begin_round(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        if is_at_fault(view, effects) {
            self.armed = false;
            self.rest();
            return;
        }
        let calls = addressable(view);
        effects.push(Effect::UndoStep);
        let is_new = |call: &&OpenCall| call.placeholder.is_none() && !call.aborted;
        self.round = Round {
            new: calls.iter().filter(is_new).map(|call| call.id.clone()).collect(),
            calls: calls.into_iter().map(|call| call.id).collect(),
            ..Round::default()
        };
        self.go_on_with_round(view, effects);
    }

    /// Does what is left to do of a round; the rest another time, if there are so many calls that it takes long.
    pub(super) fn go_on_with_round(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let settings = view.settings();
        let mut done = 0;
        let mut is_late = || {
            done += 1;
            done > FEWEST && view.is_late()
        };
        let mut round = std::mem::take(&mut self.round);
        self.categorise(&mut round, &mut is_late, view, effects);
        if round.new.is_empty()
            && let (Some(call), false) = (&round.waits, settings.autopilot)
        {
            self.rest();
            effects.push(Effect::Cursor(Cursor::Pending(call.clone())));
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
                self.process(call, round.placed.get(&id).copied(), false, view, effects);
            }
        }
        if round.calls.is_empty() {
            return self.start_queued(settings, effects);
        }
        self.round = round;
        effects.push(Effect::Pause);
        self.review_after(ReviewCause::PartOfRound, effects);
    }

    /// Runs or resolves the call under the cursor.
    pub(super) fn execute_one(&mut self, id: &CallId, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.has_request() {
            effects.push(Effect::Notify(Level::Info, "a reply is still arriving; Ctrl-C stops it".into()));
            return;
        }
        if self.running.contains_key(id) || self.queue.iter().any(|call| call.id == *id) {
            effects.push(Effect::Notify(Level::Info, "this tool is already running".into()));
            return;
        }
        let Some(call) = view.open_call(id) else {
            effects.push(Effect::Notify(Level::Info, format!("the call {id} already has a result")));
            return;
        };
        if is_at_fault(view, effects) {
            return;
        }
        // While other tools run, a pause that was announced to the user still holds.
        if self.is_busy() && !self.is_stopping {
            self.reset_counters();
        } else {
            self.arm();
        }
        effects.push(Effect::UndoStep);
        let mut placed = None;
        if call.placeholder.is_none() && !call.aborted {
            effects.push(Effect::Place(vec![(id.clone(), Placement::Approved)]));
            placed = Some(Status::Approved);
        }
        self.process(call, placed, true, view, effects);
        self.start_queued(view.settings(), effects);
    }

    /// Handles one call. `placed` is the status that this step wrote for it. `asked` says that the user chose this
    /// call, which approves a pending one.
    fn process(
        &mut self,
        call: OpenCall,
        placed: Option<Status>,
        asked: bool,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        if call.aborted {
            return self.settle(&call, CallResult::error(ABORTED), effects);
        }
        let (status, content) = match (&call.placeholder, placed) {
            (_, Some(status)) => (status, ""),
            (Some(placeholder), None) => (placeholder.block.status, placeholder.content.as_str()),
            (None, None) => return,
        };
        let is_at_work = self.is_working_on(&call.id) || view.is_offered(&call);
        if is_at_work {
            return;
        }
        // What the user has typed was recorded a moment ago.
        let is_typed = |answer: &CallResult| !content.is_empty() && answer.output == own_words(content, "");
        if let Some(answer) = view.recorded(&call).filter(|answer| status != Status::Rejected && !is_typed(answer)) {
            effects.push(restored(&call, view));
            return self.settle(&call, answer, effects);
        }
        match status {
            Status::Denied => {
                self.settle(&call, denied(&call, view), effects);
                if !content.is_empty() {
                    let warning = format!(
                        "{}: a policy denies this call, so your text in its block was not sent. To send it as the \
                         reason, undo and write `status=rejected`.",
                        call.label()
                    );
                    effects.push(Effect::Notify(Level::Warn, warning));
                }
            }
            Status::Rejected => self.reject(&call, None, view, effects),
            // The workspace has made an answer of what is valid in it, and has said what is not.
            _ if view.suspends_as(&call) == Some(AwaitKind::Elicitation) => {
                if status != Status::Pending {
                    self.ask_again(&call, view, effects);
                }
            }
            _ if !content.is_empty() => {
                let warning = format!(
                    "{}: your text in the block was used as the result, {}.",
                    call.label(),
                    progress(&call, view)
                );
                let answer = CallResult::text(own_words(content, ""));
                self.settle(&call, answer, effects);
                self.pause();
                effects.push(Effect::Advise(Level::Warn, warning, "Press Ctrl-] to continue."));
            }
            _ if asked => {
                let verdict = view.verdict(&call);
                self.run_if_possible(call, verdict, view, effects);
            }
            Status::Pending => {}
            Status::Approved if placed.is_some() || view.is_authorised(&call) => self.run_approved(call, view, effects),
            // It is not running, or was not approved in this session.
            Status::Running if view.is_interrupted(&call) && view.verdict(&call) == Verdict::Run => {
                self.run_if_possible(call, Verdict::Run, view, effects);
            }
            Status::Approved | Status::Running => {
                let warning = if status == Status::Running {
                    format!("{}: this call is no longer running, so it is pending again.", call.label())
                } else {
                    format!(
                        "{}: you did not set `status=approved` in this session, so the call is pending again.",
                        call.label()
                    )
                };
                self.ask_again(&call, view, effects);
                effects.push(Effect::Notify(Level::Warn, warning));
            }
        }
    }

    /// Only what was approved may run: if the input was edited after a policy's decision, the policy decides again.
    fn run_approved(&mut self, call: OpenCall, view: &dyn View, effects: &mut Vec<Effect>) {
        let verdict = view.verdict(&call);
        if self.was_changed(&call) && verdict == Verdict::Ask {
            let warning =
                format!("{}: its input was changed after the approval, so the call is pending again.", call.label());
            self.ask_again(&call, view, effects);
            effects.push(Effect::Notify(Level::Warn, warning));
        } else {
            self.run_if_possible(call, verdict, view, effects);
        }
    }

    /// Whether a call was approved with another name or input than it has now.
    pub(super) fn was_changed(&self, call: &OpenCall) -> bool {
        self.approvals.get(&call.id).is_some_and(|(name, input)| *name != call.name || *input != call.input)
    }

    /// Queues an approved call, or hands it to whoever runs it, unless it cannot run or a policy forbids it. `verdict` is the one by
    /// which it was found to be approved: asked again, the disk may say something else.
    pub(super) fn run_if_possible(
        &mut self,
        call: OpenCall,
        verdict: Verdict,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(answer) = view.recorded(&call) {
            effects.push(restored(&call, view));
            return self.settle(&call, answer, effects);
        }
        match (verdict, view.suspends_as(&call)) {
            (Verdict::Run | Verdict::Ask, None) => self.queue.push_back(call),
            (Verdict::Run | Verdict::Ask, Some(kind)) => self.suspend(call, kind, effects),
            (Verdict::Deny, _) => self.settle(&call, denied(&call, view), effects),
            (Verdict::Invalid(reason), _) => self.settle(&call, CallResult::error(reason.to_string()), effects),
            (Verdict::Unclear(why), _) => {
                let warning = format!("{}: {why}. It did not run, and waits for you.", call.label());
                self.ask_again(&call, view, effects);
                effects.push(Effect::Notify(Level::Warn, warning));
            }
        }
    }

    /// A call does not run any more. The others go on; after the last one of a round that the user has stopped, the turn ends.
    pub(super) fn after_one(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.is_stopping && self.running.is_empty() && self.queue.is_empty() {
            self.rest_unsent(view, effects);
        } else {
            self.start_queued(view.settings(), effects);
        }
    }

    /// Starts as many calls as the limit allows. If nothing is left to wait for, the round is over.
    pub(super) fn start_queued(&mut self, settings: Settings, effects: &mut Vec<Effect>) {
        while self.running.len() < settings.max_concurrent.max(1)
            && let Some(call) = self.queue.pop_front()
        {
            effects.push(Effect::SetStatus(call.id.clone(), Status::Running));
            effects.push(Effect::Run(call.clone()));
            self.running.insert(call.id.clone(), call);
        }
        if self.running.is_empty() {
            self.review_after(ReviewCause::Round, effects);
        } else {
            self.execute();
        }
    }

    /// Makes a call pending. An earlier approval no longer applies.
    pub(super) fn ask_again(&mut self, call: &OpenCall, view: &dyn View, effects: &mut Vec<Effect>) {
        self.approvals.remove(&call.id);
        effects.push(Effect::Await(call.id.clone(), awaited(view.suspends_as(call))));
    }

    pub(super) fn settle(&mut self, call: &OpenCall, answer: CallResult, effects: &mut Vec<Effect>) {
        self.approvals.remove(&call.id);
        self.guard.record(call, &answer);
        effects.push(Effect::Settle(call.id.clone(), answer));
    }

    /// Settles a call that the user rejects. What was recorded is what is written.
    pub(super) fn reject(&mut self, call: &OpenCall, words: Option<&str>, view: &dyn View, effects: &mut Vec<Effect>) {
        let recorded = view.recorded(call);
        let answer = recorded.unwrap_or_else(|| view.rejection(call, words));
        self.settle(call, answer, effects);
    }

    /// Gives the calls of an aborted reply error results, which say why if that is due to the model.
    pub(super) fn settle_aborted(&mut self, calls: &[OpenCall], effects: &mut Vec<Effect>) {
        let words = self.cut_off.take().unwrap_or_else(|| ABORTED.to_owned());
        for call in calls.iter().filter(|call| call.aborted) {
            self.settle(call, CallResult::error(words.clone()), effects);
        }
    }

    /// A tool has finished. The result of a cancelled call is dropped.
    pub(super) fn tool_finished(
        &mut self,
        id: &CallId,
        answer: CallResult,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(call) = self.running.remove(id) {
            self.settle(&call, answer, effects);
            effects.push(Effect::Cursor(Cursor::Result(id.clone())));
            self.after_one(view, effects);
        }
    }

    pub(super) fn cancel_tool(&mut self, id: &CallId, view: &dyn View, effects: &mut Vec<Effect>) {
        if let Some(call) = self.running.get(id) {
            effects.push(Effect::Kill(id.clone()));
            if view.drop_unless_changing(call) {
                self.tool_finished(id, CallResult::error(CANCELLED), view, effects);
            } else {
                effects.push(too_late([call]));
            }
        } else if let Some(at) = self.queue.iter().position(|call| call.id == *id)
            && let Some(call) = self.queue.remove(at)
        {
            self.settle(&call, CallResult::error(CANCELLED_BEFORE), effects);
        } else {
            effects.push(Effect::Notify(Level::Info, format!("the call {id} is not running")));
        }
    }

    /// Stops all tools, but not the conversation: the model is told. Queued calls become pending.
    pub(super) fn cancel_tools(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.running.is_empty() && self.queue.is_empty() {
            effects.push(Effect::Notify(Level::Info, "no tool is running here".into()));
            return;
        }
        self.stop_tools(view, effects);
        self.start_queued(view.settings(), effects);
    }

    /// Whether a call is running or queued.
    pub(super) fn is_working_on(&self, id: &CallId) -> bool {
        self.running.contains_key(id) || self.queue.iter().any(|call| call.id == *id)
    }

    /// Stops the round: running calls get error results, queued calls become pending. A call that is changing files goes on, as
    /// nobody knows here what it has changed. Where nobody has stopped the round, the blocks stay as they are: an error result
    /// would make the model call the tool again, with another id, although nobody knows whether the call had an effect.
    pub(super) fn stop_tools(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let settings = view.settings();
        for (id, call) in std::mem::take(&mut self.running) {
            let stays_approved = view.is_ending() && view.stays_approved(&call);
            effects.push(Effect::Kill(id.clone()));
            if stays_approved {
                effects.push(Effect::SetStatus(id, Status::Approved));
                continue;
            }
            if !view.drop_unless_changing(&call) {
                self.running.insert(id, call);
            } else if !settings.is_unattended {
                self.settle(&call, CallResult::error(CANCELLED), effects);
            }
        }
        for call in std::mem::take(&mut self.queue) {
            self.approvals.remove(&call.id);
            let stays_approved = view.is_ending() && view.stays_approved(&call);
            if !settings.is_unattended && !stays_approved {
                effects.push(Effect::Await(call.id, AwaitKind::Approval));
            }
        }
        if self.running.is_empty() {
            self.rest();
        } else {
            effects.push(too_late(self.running.values()));
        }
    }
}

/// Tells the user that a call has its result already: of the tool, of somebody's decision or answer, or of the clock.
pub(super) fn restored(call: &OpenCall, view: &dyn View) -> Effect {
    let what = if view.suspends_as(call) == Some(AwaitKind::Elicitation) {
        "this question was resolved before, and its result was restored"
    } else {
        "this call was resolved before, and its result was restored; nothing was run"
    };
    let message = format!("{}: {what}", call.label());
    Effect::Notify(Level::Info, message)
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
fn too_late<'a>(calls: impl IntoIterator<Item = &'a OpenCall>) -> Effect {
    let names: Vec<String> = calls.into_iter().map(OpenCall::label).collect();
    let names = names.join(", ");
    Effect::Notify(Level::Info, format!("{names}: too late to cancel, files are being changed; the result follows"))
}

/// Tells the user if something is wrong with the document.
pub(super) fn is_at_fault(view: &dyn View, effects: &mut Vec<Effect>) -> bool {
    let Some(fault) = view.fault() else { return false };
    effects.push(Effect::Diagnose);
    effects.push(Effect::Notify(Level::Error, format!("No tool was run: {fault}")));
    true
}

/// The open calls, one per id. Vendors reuse ids; of two open calls with the same id, edits apply to the last.
pub(super) fn addressable(view: &dyn View) -> Vec<OpenCall> {
    let calls = view.open_calls();
    let last: HashMap<_, _> = calls.iter().enumerate().map(|(index, call)| (call.id.clone(), index)).collect();
    let mut index = 0..;
    calls.into_iter().filter(|call| index.next() == last.get(&call.id).copied()).collect()
}

/// What a call waits for that does not run yet, and that would wait for this if it ran.
pub(super) fn awaited(suspends_as: Option<AwaitKind>) -> AwaitKind {
    match suspends_as {
        Some(AwaitKind::Elicitation) => AwaitKind::Elicitation,
        _ => AwaitKind::Approval,
    }
}

/// The result of a call that a policy denies.
fn denied(call: &OpenCall, view: &dyn View) -> CallResult {
    let has_begun = view.has_begun(call) || view.is_interrupted(call);
    CallResult::error(if has_begun { DENIED_AGAIN } else { DENIED })
}

/// How far the tool of a call has got whose result the user has typed.
fn progress(call: &OpenCall, view: &dyn View) -> &'static str {
    match view.has_begun(call) || view.is_interrupted(call) {
        true => "and the tool, which had begun before, did not go on",
        false => "and the tool did not run",
    }
}
