//! Inputs: the events that a conversation reacts to.

use super::Verdict;
use flemma_chat::{Language, OpenCall};
use flemma_model::{Attachment, CallId, Event, UserError};
use flemma_provider::ProviderError;
use flemma_tools::Rendered;

/// The number of a request within its conversation. Replies to older requests are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// One event.
#[expect(missing_docs, reason = "what is said of an input says what its fields are")]
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The user continues the conversation: categorise, execute or send, whichever is next.
    Advance,
    /// The same without the key: what was decided elsewhere has its effect. Text that the user has typed is not sent.
    CarryOn,
    /// The user wants this call to run, or to be resolved according to its status.
    Execute(CallId),
    /// The user decides about pending calls.
    Decide(Vec<CallId>, Choice, UndoStep),
    /// The user stops everything.
    Cancel,
    /// The user stops all tools. Calls that have not started become pending.
    CancelTools,
    /// All tool sources have loaded.
    ToolsReady,
    /// The user stops this running tool.
    CancelTool(CallId),
    /// A piece of the reply to a request arrived.
    Event { request: RequestId, event: Event },
    /// The request failed. A random number in `0.0..1.0` spreads retries: the core itself is deterministic.
    Failed { request: RequestId, error: ProviderError, jitter: f64 },
    /// The user has stopped the request, and all that has come of its reply was fed. The response to `Effect::Abort`.
    Aborted { request: RequestId },
    /// The pause before a retry of the request is over.
    BackoffOver { request: RequestId },
    /// All effects so far have been performed, and the document shows them: decide what to do next. The response to
    /// `Effect::Review`.
    Review,
    /// The verdicts of the policies on calls are known: the response to `Effect::Judge` with this number. A call that is missing is
    /// gone, and not judged; the others are as they were judged.
    Judged { number: u64, verdicts: Vec<(OpenCall, Verdict)> },
    /// The tool of a call has finished, with this result.
    ToolFinished { call: CallId, answer: CallResult },
    /// The tool of a call was not started, because that could not be recorded; why, for the user.
    NotStarted { call: CallId, problem: String },
    /// The tool of a call has done nothing, because what the user has approved is not what it would do now; why, for the user. The call
    /// waits again.
    Outdated { call: CallId, problem: String },
    /// What the user has written to approve this call does not count: it waits again.
    Refused(CallId),
    /// A running call wants to write something, which was recorded: it waits for the decision about that.
    Proposed(CallId),
    /// The user has approved these calls, and the editor exits before they start. They stay approved.
    KeepApproved(Vec<CallId>),
    /// A call that waited for that goes on, without what it wanted to write.
    GoOn(CallId),
    /// A call that waited has its result: the user's answer, the editor's, or an error because nobody answered; and who resolved it.
    Resolve { call: CallId, answer: CallResult, by: ResolvedBy },
    /// It is known what the references in the user's message mean, or why nothing is sent. The response to
    /// `Effect::Capture`.
    Captured(Result<(), UserError>),
    /// The outbox has changed: what may go out now does.
    Outbox,
    /// A turn that was wanted does not come: what is queued for it becomes text under the prompt.
    Released,
    /// What came back from an earlier session becomes text under the prompt.
    PutDown,
    /// These calls were found in a file that was opened. What is known of them from before takes effect.
    Recover(Vec<CallId>),
}

/// Who resolved a call that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolvedBy {
    /// The user, here or by a program. Autopilot continues.
    Person,
    /// The user, with the text in its block, which a key for this call carries out. Autopilot continues.
    Typed,
    /// The user, with text in the document that a key carries out. The key decides what follows.
    Document,
    /// The clock: its deadline has passed. The conversation goes on if it would have done so by itself.
    Clock,
    /// The editor's user interface. The conversation goes on if it would have done so by itself.
    Other,
    /// Whoever it was, what the file brings is not trusted yet. The conversation does not go on.
    Untrusted,
}

/// How an edit is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoStep {
    /// As a step of its own.
    Own,
    /// Together with the previous step.
    Joined,
}

/// What the user decides about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Run it.
    Approve,
    /// Do not run it. The text, if there is one, tells the model why.
    Reject(Option<String>),
}

/// The content of a tool's result block, written by the tool, the user or a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallResult {
    /// The text.
    pub output: String,
    /// Whether the model is told that the call failed.
    pub is_error: bool,
    /// The language of its fence.
    pub language: Language,
    /// Attached files.
    pub attachments: Vec<Attachment>,
}

impl CallResult {
    /// An error result.
    pub fn error(message: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(message) }
    }

    /// Plain text.
    pub fn text(output: impl Into<String>) -> Self {
        Self { output: output.into(), is_error: false, language: Language::Plain, attachments: Vec::new() }
    }
}

impl From<Rendered> for CallResult {
    fn from(rendered: Rendered) -> Self {
        let Rendered { text, is_error, language, attachments } = rendered;
        Self { output: text, is_error, language, attachments }
    }
}
