//! The calls that wait, for other plugins and programs.

use jiff::Timestamp;
use serde_json::Value;

use crate::{Conversation, components::OpenCalls};
use flemma_chat::AwaitKind;
use flemma_model::{CallId, ToolInput};

/// A call that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingCall {
    /// The buffer of its conversation.
    pub buffer: i32,
    /// The file of its conversation; empty if it has none.
    pub file: String,
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// What it waits for.
    pub kind: AwaitKind,
    /// Who answers calls of the tool: `server`, `client` or `human`.
    pub executor: String,
    /// The first moment at which an answer comes too late.
    pub expires: Option<Timestamp>,
    /// What it asks besides whether it may run, on one line. Nothing of it is from its block.
    pub question: Option<String>,
    /// The input; `None` if it is not valid JSON.
    pub input: Option<Value>,
    /// The line of its status block, from 0.
    pub line: usize,
}

impl OpenCalls {
    /// The calls that wait in a buffer, or in all of them, in their order.
    pub fn pending_calls(&self, buffer: Option<i32>) -> Vec<PendingCall> {
        let all = self.shared.conversations.all();
        let wanted = all.iter().filter(|conversation| buffer.is_none_or(|buffer| conversation.buffer == buffer));
        wanted.flat_map(|conversation| self.pending_in(conversation)).collect()
    }

    /// The calls in a buffer whose deadline has passed, without those that are being resolved. Each with whether its block has
    /// text that was not submitted.
    pub fn overdue(&self, buffer: i32) -> Vec<(CallId, bool)> {
        let Some(conversation) = self.shared.conversation(buffer) else { return Vec::new() };
        let now = self.shared.host.now();
        let calls = conversation.page.open_calls().into_iter().filter(|call| {
            let awaiting = self.waits(&conversation, call);
            let is_over = awaiting.is_some_and(|awaiting| awaiting.is_over(now));
            is_over && !call.aborted && !conversation.records.is_claimed(&call.id)
        });
        calls.map(|call| (call.id.clone(), !call.typed().is_empty())).collect()
    }

    /// Whether a call in a buffer is being resolved.
    pub fn is_resolving(&self, buffer: i32) -> bool {
        self.shared.conversation(buffer).is_some_and(|conversation| {
            conversation.page.open_ids().iter().any(|id| conversation.records.is_claimed(id))
        })
    }

    fn pending_in(&self, conversation: &Conversation) -> Vec<PendingCall> {
        let (buffer, file) = (conversation.buffer, self.shared.place(conversation).file);
        let now = self.shared.host.now();
        let calls = conversation.page.open_calls().into_iter().filter(|call| !call.aborted);
        let waiting = calls.filter_map(|call| {
            let awaiting = self.waits(conversation, &call).filter(|awaiting| !awaiting.is_over(now))?;
            if conversation.session.is_working_on(&call.id) || conversation.records.is_claimed(&call.id) {
                return None;
            }
            let kind = self.effective_kind(conversation, &call);
            let definition = self.shared.toolbox.get(&call.name);
            let executor = definition.as_deref().map_or("server", |definition| definition.executor.as_str());
            Some(PendingCall {
                buffer,
                file: file.clone(),
                question: self.question(conversation, &call, kind),
                kind,
                executor: executor.to_owned(),
                expires: awaiting.expires,
                line: call.placeholder.as_ref().map_or(call.line, |placeholder| placeholder.line),
                id: call.id,
                tool: call.name,
                input: match (&*call.input, definition) {
                    (ToolInput::Json(value), Some(definition)) => Some(definition.taken(value).into_owned()),
                    (ToolInput::Json(value), None) => Some(value.clone()),
                    (ToolInput::Malformed(_), _) => None,
                },
            })
        });
        waiting.collect()
    }
}
