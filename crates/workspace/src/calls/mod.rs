//! What the journal says of a call in the document.

pub(crate) mod forms;
pub(crate) mod key;
pub(crate) mod on_disk;
pub(crate) mod pending;
pub(crate) mod rest;

use std::time::Duration;

use serde_json::Value;

use crate::{
    Conversation, calls::key::Keyed as _, components::OpenCalls, execution::waiting_writes::names,
    journaling::restored, reviews::native,
};
use flemma_agent::CallResult;
use flemma_chat::{AwaitKind, Awaiting, Diagnostic, OpenCall, Severity, Status, deadline};
use flemma_config::Wait;
use flemma_journal::{Actor, CallKey, Ledger, Life};
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

/// What is known of an open call from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing that counts.
    New,
    /// It was approved, and has not started.
    Approved(Actor),
    /// It was started, and waits for a decision about what it wants to write.
    Proposed,
    /// It was started, and nobody knows whether it has ended.
    Interrupted,
    /// It has ended: the document lacks the result.
    Ended(CallResult),
}

impl Standing {
    /// What a journal says of an open call that nothing is at work on. `answered` counts the results of calls with this key
    /// in the document.
    pub(crate) fn of(ledger: &Ledger, key: &CallKey, answered: impl FnOnce() -> usize) -> Self {
        let lives = ledger.of(key);
        match lives.life.clone() {
            // What was approved is what it wants to write.
            Life::Open { approved, .. } if lives.proposed.is_some() => approved.map_or(Self::Proposed, Self::Approved),
            Life::Open { started: None, approved: Some(actor) } => Self::Approved(actor),
            Life::Open { approved: Some(actor), .. } if ledger.is_approved_again(key) => Self::Approved(actor),
            Life::Open { started: Some(_), .. } => Self::Interrupted,
            Life::Unknown | Life::Open { .. } => Self::New,
            // Vendors reuse ids: the life that has ended may be that of an earlier call, which has its result.
            Life::Ended => match &lives.last_result {
                Some(result) if lives.endings > answered() => Self::Ended(restored(result)),
                _ => Self::New,
            },
        }
    }

    /// What a call waits for, where the tools of the user are not known; `None` if that was not recorded either. `executor`
    /// is that of the built-in tool of this name: the user may have another one instead, and then that is recorded.
    pub(crate) fn kind(&self, ledger: &Ledger, key: &CallKey, executor: Option<&Executor>) -> Option<AwaitKind> {
        if *self == Self::Interrupted {
            return Some(AwaitKind::Approval);
        }
        let recorded = ledger.of(key).asked.as_ref().and_then(|asked| AwaitKind::parse(&asked.kind));
        recorded.or_else(|| match executor {
            Some(Executor::Human) => Some(AwaitKind::Elicitation),
            Some(Executor::Client(_) | Executor::Server(_) | Executor::Provider) => Some(AwaitKind::Approval),
            // It was categorised here, and asks for nothing else.
            None => matches!(ledger.of(key).life, Life::Open { .. }).then_some(AwaitKind::Approval),
        })
    }
}

/// Whether the approval of a call has been carried out: it waits for the editor's user interface now.
pub(crate) fn is_handed_on(ledger: &Ledger, key: &CallKey) -> bool {
    ledger.of(key).asked.as_ref().is_some_and(|asked| AwaitKind::parse(&asked.kind) == Some(AwaitKind::ClientExec))
}

/// What a call says that waits for somebody; `None` if it waits for nobody. What a status in a file claims does not matter:
/// an approval or a run that nobody here knows of (`is_real`) waits for the user like any other call.
pub(crate) fn waits(call: &OpenCall, is_real: impl FnOnce() -> bool) -> Option<Awaiting> {
    let block = &call.placeholder.as_ref()?.block;
    match block.status {
        Status::Pending => Some(block.awaiting()),
        Status::Approved | Status::Running => (!is_real()).then(|| Awaiting { expires: None, ..block.awaiting() }),
        Status::Denied | Status::Rejected => None,
    }
}

impl Conversation {
    /// What the journal says of an open call.
    pub(crate) fn standing(&self, call: &OpenCall) -> Standing {
        match self.standing_before(call) {
            Standing::Interrupted if self.session.is_working_on(&call.id) => Standing::New,
            standing => standing,
        }
    }

    /// The same for a call that is to be started, and was not yet.
    pub(crate) fn standing_before(&self, call: &OpenCall) -> Standing {
        let key = call.key();
        let standing = self.records.with_ledger(|ledger| Standing::of(ledger, &key, || self.page.answered(&key)));
        match standing {
            Standing::Interrupted if self.tasks.is_running(&call.id) => Standing::New,
            standing => standing,
        }
    }

    /// Whether a call was started and it is not known whether it has ended.
    pub(crate) fn is_interrupted(&self, call: &OpenCall) -> bool {
        self.standing(call) == Standing::Interrupted
    }

    /// Why what the user has made of a call's change cannot be approved without a look at it; `None` if it can.
    pub(crate) fn made_of_another(&self, call: &OpenCall, key: &CallKey) -> Option<String> {
        let made = self.records.made(key)?;
        let why = self.proposals.why_not_made(key, &made)?;
        Some(format!("{}: {}; look at it again with gK", call.label(), why.words()))
    }

    /// Whether a call runs here now, is about to, or is being run by the editor's user interface.
    pub(crate) fn is_at_work_on(&self, call: &CallId) -> bool {
        self.session.is_working_on(call) || self.tasks.is_running(call)
    }

    /// Whether a call that has not begun is approved, as the journal has it.
    pub(crate) fn stays_approved(&self, call: &OpenCall) -> bool {
        let is_approved = self.records.with_ledger(|ledger| ledger.approval(&call.key()).is_some());
        is_approved && !self.tasks.has_begun(&call.id)
    }

    /// Whether a call with this key is open.
    pub(crate) fn is_open(&self, key: &CallKey) -> bool {
        let open = self.page.open_call(&key.id);
        open.is_some_and(|call| call.key() == *key)
    }
}

impl OpenCalls {
    /// Whether the status in the block of a call counts: the user or a policy of theirs has written it in this session, or
    /// the user's journal has the decision.
    pub(crate) fn counts(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        conversation.page.is_authorised(call) || matches!(conversation.standing(call), Standing::Approved(_))
    }

    /// Whether a driven conversation has a call that does no harm when it runs twice, and that runs if a policy approves it. A run that
    /// was stopped or killed between writing the file and recording the start leaves such a call: its block says `approved` or
    /// `running`, and the journal knows nothing of it. Nobody is there to be asked, and without the block it would run.
    pub(crate) fn is_repeated(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        conversation.drive.is_on()
            && matches!(call.status(), Some(Status::Approved | Status::Running))
            && self.suspends_as(call).is_none()
            && self.shared.toolbox.get(&call.name).is_some_and(|definition| definition.idempotent)
            && !conversation.is_at_work_on(&call.id)
    }
}

/// What calls wait for: what their blocks say, and until when.
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
        let is_real = || self.counts(conversation, call) || self.is_repeated(conversation, call);
        waits(call, || conversation.is_at_work_on(&call.id) || is_real())
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
        let said = |pick: fn(&Definition) -> Option<Duration>| definition.and_then(pick);
        let (option, declared, default) = match kind {
            AwaitKind::Approval => ("approval_timeout", said(|tool| tool.approval_timeout), deadlines.approval),
            AwaitKind::Elicitation => ("timeout", said(|tool| tool.timeout), deadlines.elicitation),
            AwaitKind::ClientExec if !self.shared.host.has_ui() => return deadlines.headless,
            AwaitKind::ClientExec => ("timeout", said(|tool| tool.timeout), deadlines.client),
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
            AwaitKind::ClientExec => None,
            AwaitKind::Approval if conversation.standing(call) == Standing::Interrupted => Some(INTERRUPTED.to_owned()),
            AwaitKind::Approval => {
                let key = call.key();
                let names = conversation.records.with_ledger(|ledger| ledger.of(&key).proposed.as_ref().map(names))?;
                Some(format!("Write {}?", one_line(&names.join(", "), NAMES)))
            }
        }
    }

    /// What the form of a call asks, on one line.
    pub(crate) fn form_question(&self, tool: &str, input: &ToolInput) -> Option<String> {
        let ToolInput::Json(input) = input else { return None };
        let form = Form::of(&*self.shared.toolbox.get(tool)?, input);
        Some(one_line(&form.question, QUESTION))
    }

    /// Whether the document or its frontmatter has an error.
    pub(crate) fn is_at_fault(&self, conversation: &Conversation) -> bool {
        let is_error = |found: &Diagnostic| found.severity == Severity::Error;
        conversation.page.diagnostics().iter().any(is_error) || self.frontmatter.of(conversation).fault.is_some()
    }

    /// Whether a call proposes what it would write.
    pub(crate) fn is_proposing(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        conversation.records.has_proposed(&call.key())
            || self.shared.toolbox.get(&call.name).as_deref().and_then(native).is_some_and(|tool| tool.is_proposing())
    }
}
