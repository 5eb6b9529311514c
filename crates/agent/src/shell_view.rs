//! What the state machine sees of a shell.

use super::{CallResult, Outbox, Settings, Shell, Verdict, View};
use flemma_chat::{AwaitKind, Diagnostic, OpenCall, Severity, Status, StatusBlock, Tail};
use flemma_model::CallId;

/// A shell as a [`View`] for the state machine.
pub(super) struct ShellView<'a, S>(pub(super) &'a S);

impl<S: Shell> View for ShellView<'_, S> {
    fn open_calls(&self) -> Vec<OpenCall> {
        self.0.with_document(|document, text| document.open_calls(text))
    }

    fn open_call(&self, id: &CallId) -> Option<OpenCall> {
        self.0.with_document(|document, text| document.open_call(id, text))
    }

    fn open_states(&self) -> Vec<(CallId, Option<(Status, AwaitKind)>)> {
        let state = |block: &StatusBlock| (block.status, block.kind());
        self.0.with_document(|document, _| {
            document.open_states().into_iter().map(|(id, block)| (id.clone(), block.map(state))).collect()
        })
    }

    fn is_late(&self) -> bool {
        self.0.is_late()
    }

    fn verdict(&self, call: &OpenCall) -> Verdict {
        self.0.verdict(call)
    }

    fn recorded(&self, call: &OpenCall) -> Option<CallResult> {
        self.0.recorded(call)
    }

    fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind> {
        self.0.suspends_as(call)
    }

    fn is_offered(&self, call: &OpenCall) -> bool {
        self.0.is_offered(call)
    }

    fn is_interrupted(&self, call: &OpenCall) -> bool {
        self.0.is_interrupted(call)
    }

    fn has_proposed(&self, call: &OpenCall) -> bool {
        self.0.has_proposed(call)
    }

    fn is_ending(&self) -> bool {
        self.0.is_ending()
    }

    fn stays_approved(&self, call: &OpenCall) -> bool {
        self.0.stays_approved(call)
    }

    fn has_begun(&self, call: &OpenCall) -> bool {
        self.0.has_begun(call)
    }

    fn rejection(&self, call: &OpenCall, reason: Option<&str>) -> CallResult {
        self.0.rejection(call, reason)
    }

    fn drop_unless_changing(&self, call: &OpenCall) -> bool {
        self.0.drop_unless_changing(&call.id)
    }

    fn is_authorised(&self, call: &OpenCall) -> bool {
        self.0.is_authorised(call)
    }

    fn tools_ready(&self) -> bool {
        self.0.tools_ready()
    }

    fn has_uncaptured(&self) -> bool {
        self.0.has_uncaptured()
    }

    fn fault(&self) -> Option<String> {
        first_error(&self.0.diagnostics())
    }

    fn outbox(&self) -> Outbox {
        self.0.outbox()
    }

    fn tail(&self) -> Tail {
        self.0.with_document(|document, text| document.tail(text))
    }

    fn settings(&self) -> Settings {
        self.0.settings()
    }
}

/// The first error, for a message.
pub(super) fn first_error(diagnostics: &[Diagnostic]) -> Option<String> {
    let first = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)?;
    Some(format!("line {}: {}", first.line + 1, first.message))
}
