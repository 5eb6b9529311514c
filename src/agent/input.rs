//! What can happen to a conversation.

use crate::{
    chat::Language,
    model::{Attachment, CallId, Event},
    provider::ProviderError,
    tools::Rendered,
};

/// Names one request of one conversation; an answer to an older one is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The user wants the conversation to go on: categorise, execute, or send, whichever is next.
    Advance,
    /// The user wants this one call to run, or to be resolved as its status says.
    Execute(CallId),
    /// The user decides about calls that wait for them.
    Decide(Vec<CallId>, Choice, UndoStep),
    /// The user wants everything to stop.
    Cancel,
    /// The user wants every tool to stop; what has not started yet waits for them again.
    CancelTools,
    /// Every source of tools has loaded.
    ToolsReady,
    /// The user wants this one running tool to stop.
    CancelTool(CallId),
    /// A piece of a reply arrived.
    Event {
        /// The request that it answers.
        request: RequestId,
        /// The piece.
        event: Event,
    },
    /// The request failed.
    Failed {
        /// The request.
        request: RequestId,
        /// Why.
        error: ProviderError,
        /// A random number in `0.0..1.0`, which spreads retries: the core rolls no dice.
        jitter: f64,
    },
    /// The pause before a retry is over.
    BackoffOver {
        /// The request that waits.
        request: RequestId,
    },
    /// The effects so far are performed and the document shows them: decide what comes next. The answer to
    /// [`super::Effect::Review`].
    Review,
    /// A tool has finished.
    ToolFinished {
        /// Its call.
        call: CallId,
        /// What it said.
        answer: CallResult,
    },
}

/// Where an edit stands in the history that undo walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoStep {
    /// It is a step of its own.
    Own,
    /// It belongs to the step before it.
    Joined,
}

/// What the user decides about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It may run.
    Approve,
    /// It may not. The text, if there is one, tells the model why.
    Reject(Option<String>),
}

/// What stands in a tool's result block, whoever wrote it: the tool, the user, or a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallResult {
    /// The text.
    pub output: String,
    /// Whether the model is told that the call failed.
    pub is_error: bool,
    /// What its fence says that it is.
    pub language: Language,
    /// The files that the model is shown with it. Only tools of Flemma's own have some.
    pub attachments: Vec<Attachment>,
}

impl CallResult {
    /// An error result.
    pub fn error(message: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(message) }
    }

    /// A plain text.
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
