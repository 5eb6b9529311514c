//! Calls that wait: what their blocks say, until when, and what happens when the time is up.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    Conversation, Workspace,
    call_key::Keyed as _,
    resolution::Resolution,
    standing::{Standing, waits},
};
use flemma_agent::Level;
use flemma_chat::{AwaitKind, Awaiting, OpenCall, Status, deadline};
use flemma_config::Wait;
use flemma_journal::{Asked, Life, Role};
use flemma_model::{CallId, ToolInput};
use flemma_text::one_line;
use flemma_tools::{Definition, Executor, form::Form};

/// The question about a call that was started, and of which nobody knows whether it has ended.
pub(super) const INTERRUPTED: &str =
    "It was interrupted while it was running, and may have had an effect. Run it again?";

/// How many calls expire at a time. The user's keys are heard in between.
pub(super) const EXPIRED_AT_ONCE: usize = 16;

/// Whether the block of a call asks whether to run it again.
pub(super) fn asks_again(awaiting: &Awaiting) -> bool {
    awaiting.question.as_deref() == Some(INTERRUPTED)
}

/// The longest question in a block, in characters. The whole of it is in the call.
const QUESTION: usize = 160;

/// How often deadlines are looked at. A laptop that slept does not count its sleep, so the clock has to be read again.
const TICK: Duration = Duration::from_secs(30);

/// How soon deadlines are looked at again while the user is typing.
const TYPING: SignedDuration = SignedDuration::from_secs(1);

impl Workspace {
    /// What a call that may run waits for, if this process does not run it itself.
    pub(super) fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind> {
        match self.toolbox().get(&call.name)?.executor {
            Executor::Human => Some(AwaitKind::Elicitation),
            Executor::Client(_) => Some(AwaitKind::ClientExec),
            Executor::Server(_) | Executor::Provider => None,
        }
    }

    /// What a pending call really waits for. What its block says does not matter: anybody may have written that.
    pub(super) fn effective_kind(&self, conversation: &Conversation, call: &OpenCall) -> AwaitKind {
        if !self.host().carries_on() {
            // An answer is a text, and nothing runs, so for that the word of the block will do.
            let written = || call.awaiting().map(|awaiting| awaiting.kind);
            return self.recorded_kind(conversation, call).or_else(written).unwrap_or_default();
        }
        match self.suspends_as(call) {
            Some(AwaitKind::Elicitation) => AwaitKind::Elicitation,
            Some(AwaitKind::ClientExec) if conversation.is_at_work_on(&call.id) => AwaitKind::ClientExec,
            None if self.toolbox().get(&call.name).is_none() => {
                let asked = self.asked(conversation, call);
                asked.and_then(|asked| AwaitKind::parse(&asked.kind)).unwrap_or_default()
            }
            _ => AwaitKind::Approval,
        }
    }

    /// What a call waits for, where the user's tools are not known; `None` if nothing here says so.
    pub(super) fn recorded_kind(&self, conversation: &Conversation, call: &OpenCall) -> Option<AwaitKind> {
        let key = call.key();
        let standing = self.standing(conversation, call);
        let tool = self.toolbox().get(&call.name);
        let executor = tool.as_deref().map(|tool| &tool.executor);
        conversation.records().with_ledger(|ledger| standing.kind(ledger, &key, executor))
    }

    /// What was recorded of the question of a call.
    pub(super) fn asked(&self, conversation: &Conversation, call: &OpenCall) -> Option<Asked> {
        let key = call.key();
        conversation.records().with_ledger(|ledger| ledger.asked(&key).cloned())
    }

    /// What a call says that waits for somebody; `None` if it waits for nobody.
    pub(super) fn waits(&self, conversation: &Conversation, call: &OpenCall) -> Option<Awaiting> {
        waits(call, || conversation.is_at_work_on(&call.id) || self.counts(conversation, call))
    }

    /// What the block of a call says that begins to wait now.
    pub(super) fn awaiting(&self, conversation: &Conversation, id: &CallId, kind: AwaitKind) -> Awaiting {
        let Some(call) = &conversation.page().open_call(id) else {
            return Awaiting { kind, ..Awaiting::default() };
        };
        let definition = self.toolbox().get(&call.name);
        let executor = definition.as_deref().map(|definition| definition.executor.as_str()).unwrap_or_default();
        let wait = self.wait(kind, definition.as_deref());
        Awaiting {
            kind,
            executor: if executor == "server" { String::new() } else { executor.to_owned() },
            expires: wait.0.and_then(|wait| deadline(self.host().now(), wait)),
            question: self.question(conversation, call, kind),
        }
    }

    /// How long a call may wait: what the user says of this tool, else what the tool says of itself, else the default.
    fn wait(&self, kind: AwaitKind, definition: Option<&Definition>) -> Wait {
        let config = self.config();
        let deadlines = &config.tools.deadlines;
        let (option, declared, default) = match kind {
            AwaitKind::Approval => {
                ("approval_timeout", definition.and_then(|definition| definition.approval_timeout), deadlines.approval)
            }
            AwaitKind::Elicitation => {
                ("timeout", definition.and_then(|definition| definition.timeout), deadlines.elicitation)
            }
            AwaitKind::ClientExec if !self.host().has_ui() => return deadlines.headless,
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
    pub(super) fn question(&self, conversation: &Conversation, call: &OpenCall, kind: AwaitKind) -> Option<String> {
        match kind {
            AwaitKind::Elicitation => self.form_question(&call.name, &call.input),
            AwaitKind::Approval if self.standing(conversation, call) == Standing::Interrupted => {
                Some(INTERRUPTED.to_owned())
            }
            AwaitKind::Approval if self.has_proposed(conversation, call) => self.write_question(conversation, call),
            AwaitKind::Approval | AwaitKind::ClientExec => None,
        }
    }

    /// What the form of a call asks, on one line.
    pub(super) fn form_question(&self, tool: &str, input: &ToolInput) -> Option<String> {
        let ToolInput::Json(input) = input else { return None };
        let form = Form::of(&*self.toolbox().get(tool)?, input);
        Some(one_line(&form.question, QUESTION))
    }

    /// The editor has a user interface now: it can run the calls that wait for one.
    pub fn ui_attached(&self) {
        for conversation in self.conversations().all() {
            self.offer_again(&conversation);
            if conversation.is_known() && conversation.is_held_here() {
                self.read_outbox(&conversation);
            }
        }
    }

    /// Looks at the deadlines of a conversation, and comes back when the next one may be over. `is_opening`: a file that was
    /// just opened may be anybody's, so only calls that the user's journal knows expire in it by themselves.
    pub(super) fn watch_deadlines(&self, conversation: &Conversation, is_opening: bool) {
        let now = self.host().now();
        let (mut next, mut expired): (Option<Timestamp>, _) = (None, 0);
        let deadlines = conversation.page().with_document(|document, _| {
            let states = document.calls().states().into_iter();
            let waiting = states.filter_map(|(id, block)| Some((id, block?)));
            let waiting = waiting.filter(|(_, block)| block.status == Status::Pending);
            waiting.filter_map(|(id, block)| Some((id.clone(), block.expires()?))).collect::<Vec<_>>()
        });
        for (id, expires) in deadlines {
            if conversation.records().is_claimed(&id) || conversation.session().is_working_on(&id) {
                continue;
            }
            if now < expires {
                next = Some(next.map_or(expires, |next| next.min(expires)));
            } else if self.host().is_typing(conversation.buffer()) {
                // Nothing is written and nothing is sent under their hands.
                let soon = now.saturating_add(TYPING).unwrap_or(now);
                next = Some(next.map_or(soon, |next| next.min(soon)));
            } else if let Some(call) = conversation.page().open_call(&id)
                && (!is_opening || self.is_known(conversation, &call))
            {
                self.expire_call(conversation, &call);
                // One with the user's text in its block stays.
                let has_begun = conversation.records().is_claimed(&id) || conversation.page().open_call(&id).is_none();
                expired += usize::from(has_begun);
                if expired == EXPIRED_AT_ONCE {
                    next = Some(now);
                    break;
                }
            }
        }
        let Some(next) = next else { return };
        let left = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        let generation = conversation.deadlines().begin();
        let (mailbox, id) = (self.background().mailbox().clone(), conversation.id());
        // A millisecond more, so that the clock has passed the deadline.
        let pause = left.saturating_add(Duration::from_millis(1)).min(TICK);
        let again = move || {
            mailbox.job_for(id, move |workspace, conversation| {
                if conversation.deadlines().is_current(generation) {
                    workspace.watch_deadlines(conversation, is_opening);
                }
            });
        };
        let _ = self.background().worker().later(pause, again);
    }

    /// Whether the journal has an open life of this call.
    fn is_known(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        let key = call.key();
        matches!(conversation.records().life(&key), Life::Open { .. })
    }

    /// The deadline of a call has passed. While the user is typing here, or its block has their text, nothing happens: the
    /// next key of theirs deals with it.
    pub(super) fn expire_call(&self, conversation: &Conversation, call: &OpenCall) {
        if call.placeholder.as_ref().is_some_and(|placeholder| !placeholder.content.is_empty()) {
            if conversation.records().is_late_news(&call.id) {
                let how = if self.host().carries_on() { ": Ctrl-] moves it into your message" } else { "" };
                let message = format!(
                    "{}. Your text stays in its block, but it is too late for an answer{how}.",
                    self.deadline_passed(call)
                );
                self.host().notify(Level::Warn, &message);
            }
        } else if !self.host().is_typing(conversation.buffer()) {
            self.resolve_call(conversation, &call.id, Resolution::Expire, Role::Clock, |_, _| {});
        }
    }

    /// Says that the deadline of a call has passed.
    fn deadline_passed(&self, call: &OpenCall) -> String {
        let expires = call.awaiting().and_then(|awaiting| awaiting.expires);
        let at = expires.map_or_else(String::new, |expires| format!(" at {}", self.host().local_time(expires)));
        format!("{}: its deadline passed{at}", call.label())
    }

    /// A key meets a call whose deadline has passed.
    pub(super) fn expire_by_key(&self, conversation: &Conversation, call: &OpenCall) {
        if call.placeholder.as_ref().is_none_or(|placeholder| placeholder.content.is_empty()) {
            self.host().notify(Level::Info, &self.deadline_passed(call));
        }
        self.resolve_call(conversation, &call.id, Resolution::Expire, Role::Clock, |_, _| {});
    }

    /// Calls that the user interface was to run, and that it could not begin to run.
    pub(super) fn offer_again(&self, conversation: &Conversation) {
        for call in conversation.page().open_calls() {
            if conversation.tasks().take_waiting(&call.id) {
                self.offer(conversation, &call);
            }
        }
    }
}
