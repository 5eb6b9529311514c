//! Calls that wait: what their blocks say, until when, and what happens when the time is up.

use std::time::Duration;

use serde_json::Value;

use crate::{
    Conversation,
    calls::{OpenCalls, Standing, key::Keyed as _, waits},
    execution::waiting_writes::names,
};
use flemma_chat::{AwaitKind, Awaiting, OpenCall, Severity, deadline};
use flemma_config::Wait;
use flemma_model::{CallId, ToolInput};
use flemma_text::one_line;
use flemma_tools::{Definition, Executor, form::Form};

/// The question about a call that was started, and of which nobody knows whether it has ended.
pub(crate) const INTERRUPTED: &str =
    "It was interrupted while it was running, and may have had an effect. Run it again?";

/// Whether the block of a call asks whether to run it again.
pub(crate) fn asks_again(awaiting: &Awaiting) -> bool {
    awaiting.question.as_deref() == Some(INTERRUPTED)
}

/// The longest question in a block, in characters. The whole of it is in the call.
const QUESTION: usize = 160;
/// The longest list of names in a question, in characters.
const NAMES: usize = 120;

impl OpenCalls {
    /// What a call that may run waits for, if this process does not run it itself.
    pub(crate) fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind> {
        match self.shared.toolbox.get(&call.name)?.executor {
            Executor::Human => Some(AwaitKind::Elicitation),
            Executor::Client(_) => Some(AwaitKind::ClientExec),
            Executor::Server(_) | Executor::Provider => None,
        }
    }

    /// What a pending call really waits for. What its block says does not matter: anybody may have written that.
    pub(crate) fn effective_kind(&self, conversation: &Conversation, call: &OpenCall) -> AwaitKind {
        if !self.shared.host.carries_on() {
            // An answer is a text, and nothing runs, so for that the word of the block will do.
            let written = || call.awaiting().map(|awaiting| awaiting.kind);
            return self.recorded_kind(conversation, call).or_else(written).unwrap_or_default();
        }
        match self.suspends_as(call) {
            Some(AwaitKind::Elicitation) => AwaitKind::Elicitation,
            Some(AwaitKind::ClientExec) if conversation.is_at_work_on(&call.id) => AwaitKind::ClientExec,
            None if self.shared.toolbox.get(&call.name).is_none() => {
                let asked = conversation.records.asked(&call.key());
                asked.and_then(|asked| AwaitKind::parse(&asked.kind)).unwrap_or_default()
            }
            _ => AwaitKind::Approval,
        }
    }

    /// What a call waits for, where the user's tools are not known; `None` if nothing here says so.
    pub(crate) fn recorded_kind(&self, conversation: &Conversation, call: &OpenCall) -> Option<AwaitKind> {
        let key = call.key();
        let standing = conversation.standing(call);
        let tool = self.shared.toolbox.get(&call.name);
        let executor = tool.as_deref().map(|tool| &tool.executor);
        conversation.records.with_ledger(|ledger| standing.kind(ledger, &key, executor))
    }

    /// What a call says that waits for somebody; `None` if it waits for nobody.
    pub(crate) fn waits(&self, conversation: &Conversation, call: &OpenCall) -> Option<Awaiting> {
        waits(call, || conversation.is_at_work_on(&call.id) || self.counts(conversation, call))
    }

    /// What the block of a call says that begins to wait now.
    pub(crate) fn awaiting(&self, conversation: &Conversation, id: &CallId, kind: AwaitKind) -> Awaiting {
        let Some(call) = &conversation.page.open_call(id) else {
            return Awaiting { kind, ..Awaiting::default() };
        };
        let definition = self.shared.toolbox.get(&call.name);
        let executor = definition.as_deref().map(|definition| definition.executor.as_str()).unwrap_or_default();
        let wait = self.wait(kind, definition.as_deref());
        Awaiting {
            kind,
            executor: if executor == "server" { String::new() } else { executor.to_owned() },
            expires: wait.0.and_then(|wait| deadline(self.shared.host.now(), wait)),
            question: self.question(conversation, call, kind),
        }
    }

    /// How long a call may wait: what the user says of this tool, else what the tool says of itself, else the default.
    fn wait(&self, kind: AwaitKind, definition: Option<&Definition>) -> Wait {
        let config = self.shared.config();
        let deadlines = &config.tools.deadlines;
        let (option, declared, default) = match kind {
            AwaitKind::Approval => {
                ("approval_timeout", definition.and_then(|definition| definition.approval_timeout), deadlines.approval)
            }
            AwaitKind::Elicitation => {
                ("timeout", definition.and_then(|definition| definition.timeout), deadlines.elicitation)
            }
            AwaitKind::ClientExec if !self.shared.host.has_ui() => return deadlines.headless,
            AwaitKind::ClientExec => {
                ("timeout", definition.and_then(|definition| definition.timeout), deadlines.client)
            }
        };
        let own = definition.and_then(|definition| {
            let seconds = config.tools.options_of(&definition.name).get(option).and_then(Value::as_f64)?;
            Duration::try_from_secs_f64(seconds).ok()
        });
        own.or(declared).map_or(default, |wait| Wait(Some(wait)))
    }

    /// What a call asks besides whether it may run, on one line.
    pub(crate) fn question(&self, conversation: &Conversation, call: &OpenCall, kind: AwaitKind) -> Option<String> {
        match kind {
            AwaitKind::Elicitation => self.form_question(&call.name, &call.input),
            AwaitKind::Approval if conversation.standing(call) == Standing::Interrupted => Some(INTERRUPTED.to_owned()),
            AwaitKind::Approval if conversation.records.has_proposed(&call.key()) => {
                self.write_question(conversation, call)
            }
            AwaitKind::Approval | AwaitKind::ClientExec => None,
        }
    }

    /// What the form of a call asks, on one line.
    pub(crate) fn form_question(&self, tool: &str, input: &ToolInput) -> Option<String> {
        let ToolInput::Json(input) = input else { return None };
        let form = Form::of(&*self.shared.toolbox.get(tool)?, input);
        Some(one_line(&form.question, QUESTION))
    }
}

impl OpenCalls {
    /// How many more tools may start now.
    pub(crate) fn free_slots(&self, conversation: &Conversation) -> usize {
        let limit = self.frontmatter.of(conversation).config.tools.max_concurrent as usize;
        limit.max(1).saturating_sub(conversation.session.running().len())
    }

    /// Whether the document or its frontmatter has an error.
    pub(crate) fn is_at_fault(&self, conversation: &Conversation) -> bool {
        let is_error = |found: &flemma_chat::Diagnostic| found.severity == Severity::Error;
        conversation.page.diagnostics().iter().any(is_error) || self.frontmatter.of(conversation).fault.is_some()
    }

    /// What the block of a call asks that wants to write something.
    pub(crate) fn write_question(&self, conversation: &Conversation, call: &OpenCall) -> Option<String> {
        let key = call.key();
        let names = conversation.records.with_ledger(|ledger| ledger.proposed(&key).map(names))?;
        Some(format!("Write {}?", one_line(&names.join(", "), NAMES)))
    }
}
