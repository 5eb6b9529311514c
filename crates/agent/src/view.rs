//! What the state machine sees of the world in one step.

use super::{
    CallResult, Outbox,
    rejection::{UNKNOWN_EFFECT, rejection},
};
use flemma_chat::{AwaitKind, OpenCall, Status, Tail};
use flemma_model::{CallId, ModelError};

/// What a step can see: the document and the policies in their current state.
pub trait View {
    /// The calls without a result, in the document's order.
    fn open_calls(&self) -> Vec<OpenCall>;

    /// The last open call with this id.
    fn open_call(&self, id: &CallId) -> Option<OpenCall> {
        self.open_calls().into_iter().rfind(|call| call.id == *id)
    }

    /// The ids of the open calls with what their blocks say. The calls themselves are not read.
    fn open_states(&self) -> Vec<(CallId, Option<(Status, AwaitKind)>)> {
        let state = |call: OpenCall| {
            let block = call.placeholder.map(|placeholder| placeholder.block);
            (call.id, block.map(|block| (block.status, block.kind())))
        };
        self.open_calls().into_iter().map(state).collect()
    }

    /// Whether the step has taken so long that the rest of it waits until the user's keys were heard.
    fn is_late(&self) -> bool {
        false
    }

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
        rejection(call, reason, self.is_interrupted(call).then_some(UNKNOWN_EFFECT), |_| None)
    }

    /// Whether a call was started, and waits for a decision about what it wants to write.
    fn has_proposed(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether the conversation does not go on here. What was decided stays so for whoever opens it next.
    fn is_ending(&self) -> bool {
        false
    }

    /// Whether a call that has not begun was approved, and whoever did that was told so.
    fn stays_approved(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether a call was started in its life, which may have ended since with the words that the user typed.
    fn has_begun(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether a call that runs can be stopped so that nothing more comes of it. From then on it can begin to change nothing. `false`
    /// if it is changing files already: it ends soon, and its result says what it has changed.
    fn drop_unless_changing(&self, _call: &OpenCall) -> bool {
        true
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
    /// Nobody can tell, and this is why: for the user. It is asked about, and does not run before there is another verdict.
    Unclear(String),
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
