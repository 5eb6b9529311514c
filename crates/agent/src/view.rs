//! What the state machine sees of the world in one step.

use super::{Overrun, Shell};
use flemma_chat::{AwaitKind, Diagnostic, OpenCall, Severity, Status, StatusBlock, Tail};
use flemma_model::{CallId, ModelError};

/// What a step can see: a shell, and the document in it.
pub(super) trait View: Shell {
    /// The calls without a result, in the document's order.
    fn open_calls(&self) -> Vec<OpenCall>;

    /// The last open call with this id.
    fn open_call(&self, id: &CallId) -> Option<OpenCall>;

    /// The ids of the open calls with what their blocks say. The calls themselves are not read.
    fn open_states(&self) -> Vec<(CallId, Option<(Status, AwaitKind)>)>;

    /// What the document ends with.
    fn tail(&self) -> Tail;

    /// The first error of the document, if it cannot be sent or cannot take a result: `line 7: …`.
    fn fault(&self) -> Option<String>;
}

impl<S: Shell> View for S {
    fn open_calls(&self) -> Vec<OpenCall> {
        self.with_document(|document, text| document.calls().open(text))
    }

    fn open_call(&self, id: &CallId) -> Option<OpenCall> {
        self.with_document(|document, text| document.calls().find(id, text))
    }

    fn open_states(&self) -> Vec<(CallId, Option<(Status, AwaitKind)>)> {
        let state = |block: &StatusBlock| (block.status, block.kind());
        self.with_document(|document, _| {
            document.calls().states().into_iter().map(|(id, block)| (id.clone(), block.map(state))).collect()
        })
    }

    fn tail(&self) -> Tail {
        self.with_document(|document, text| Tail::of(document.messages(), text))
    }

    fn fault(&self) -> Option<String> {
        first_error(&self.diagnostics())
    }
}

/// The first error, for a message.
pub(super) fn first_error(diagnostics: &[Diagnostic]) -> Option<String> {
    let first = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)?;
    Some(format!("line {}: {}", first.line + 1, first.message))
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
    /// The limit on money that is reached; `None` for none.
    pub overrun: Option<Overrun>,
    /// The maximum number of tools that run at once; 0 counts as 1.
    pub max_concurrent: usize,
    /// Whether no user looks at the conversation. What is stopped then goes on with whoever carries it on next: a call that
    /// was running gets no result, nor do the calls of a reply that was cut off, which is asked for again.
    pub is_unattended: bool,
}
