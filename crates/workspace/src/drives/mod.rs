//! Conversations that are carried on without a user, until they are done, wait for a person, or fail.
//!
//! A drive does what a user would do who only ever presses Ctrl-]: it decides nothing, and what the file brings has to be
//! trusted first. It looks at a conversation whenever it has come to rest. A key press is worth repeating only if it has
//! brought all calls to their results without a request, as when the journal had the results; everything else that keeps a
//! conversation from going on is a failure, which the user was told of.

use std::cell::{Cell, RefCell};

use serde::Deserialize;
use serde_json::Value;

use crate::{Conversation, HostEffect, components::Drives, event::LoopEvent, ports::Question};
use flemma_agent::{Input, Stop};
use flemma_chat::{self as chat, AwaitKind, Tail};
use flemma_config::{Config, switch::Switch};
use flemma_model::UserError;
use flemma_runtime::Owner;

impl Drives {
    /// Carries the conversation in a buffer on without a user. [`HostEffect::Driven`] tells of the end.
    pub fn drive(&self, buffer: i32, options: DriveOptions) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        conversation.drive.begin(options);
        conversation.evaluated.take();
        if let Err(problem) = conversation.drive.layer(&self.shared.config()) {
            return self.end_drive(&conversation, DriveEnd::Failed(Some(problem)));
        }
        self.look_at_drive_later(&conversation);
    }

    /// Ends what is under way in a driven conversation, as Ctrl-C does. The drive ends when that is over.
    ///
    /// Says whether the conversation is driven.
    pub fn stop_driving(&self, buffer: i32) -> bool {
        let Some(conversation) = self.shared.conversation(buffer).filter(|it| it.drive.is_on()) else { return false };
        conversation.drive.is_cancelled.set(true);
        if conversation.is_busy()
            || conversation.gate.borrow_mut().is_waiting()
            || conversation.holding.wanted.borrow().is_some()
        {
            // Who stops it takes no decision back.
            self.shared.tell(LoopEvent::Stop(&conversation));
        }
        self.look_at_drive_later(&conversation);
        true
    }

    /// What has happened may have brought a driven conversation to rest.
    pub(crate) fn look_at_drives(&self) {
        for conversation in self.shared.conversations.all().iter().filter(|it| it.drive.is_on()) {
            self.look_at_drive(conversation);
        }
    }

    pub(crate) fn look_at_drive_later(&self, conversation: &Conversation) {
        if conversation.drive.is_on() {
            // Every drain looks at the drives.
            self.background.post_for(conversation.id, |_, _| {});
        }
    }

    /// Takes the next step of a drive, or ends it.
    fn look_at_drive(&self, conversation: &Conversation) {
        if let Some(other) = conversation.holding.other() {
            return self.end_drive(conversation, DriveEnd::Held(other.0));
        }
        if let Some(problem) = conversation.records.problem() {
            return self.end_drive(conversation, DriveEnd::Failed(Some(problem)));
        }
        let is_known = conversation.holding.is_here() && conversation.is_known();
        if !is_known || conversation.gate.borrow_mut().is_waiting() || !conversation.is_at_rest() {
            return;
        }
        let drive = &conversation.drive;
        let has_open_calls = !conversation.page.open_ids().is_empty();
        let stop = conversation.session.stop().filter(|_| drive.last.get().is_some());
        if drive.is_stopping() {
            return self.end_drive(conversation, DriveEnd::Failed(Some(UserError::new("it was stopped"))));
        }
        if let Some(stop) = stop {
            let end = DriveEnd::Failed(reason(&stop, drive.max_turns().is_some()));
            return self.end_drive(conversation, end);
        }
        if has_open_calls && drive.last.get().is_some() {
            let waiting = self.calls.pending_calls(Some(conversation.buffer));
            if waiting.iter().any(|call| call.kind == AwaitKind::ClientExec) {
                // Without a user interface it ends by itself: `tools.deadlines.headless`.
                return;
            }
            let end = if waiting.is_empty() { DriveEnd::Failed(None) } else { DriveEnd::Suspended };
            return self.end_drive(conversation, end);
        }
        let tail = conversation.page.with_document(|document, text| Tail::of(document.messages(), text));
        let end = match tail {
            _ if has_open_calls => return self.step_drive(conversation, true),
            Tail::Unanswered | Tail::Results | Tail::CutOff if drive.is_progress(false) => {
                return self.step_drive(conversation, false);
            }
            Tail::Unanswered | Tail::Results | Tail::CutOff => DriveEnd::Failed(None),
            Tail::Reply => DriveEnd::Done,
            Tail::Nothing => {
                let reason = "there is nothing to send; write a message under `@You:` first";
                DriveEnd::Failed(Some(UserError::new(reason)))
            }
        };
        self.end_drive(conversation, end);
    }

    /// Does what Ctrl-] does.
    fn step_drive(&self, conversation: &Conversation, has_open_calls: bool) {
        let drive = &conversation.drive;
        drive.last.set(Some((drive.requests.get(), has_open_calls)));
        let input = self.left_to_do(conversation).unwrap_or(Input::Advance);
        self.ownership.want_alone(conversation, input.into());
        self.look_at_drive_later(conversation);
    }

    /// A driven conversation may be sent. A reply at its end that was cut off is asked for again.
    pub(crate) fn drop_cut_off(&self, conversation: &Conversation) {
        if conversation.drive.is_on() && !conversation.is_busy() {
            let edits = conversation.page.with_document(|document, text| chat::drop_cut_off(document.messages(), text));
            self.shared.write(conversation, &edits);
        }
    }

    /// A driven conversation has a question to the user. Says whether that was taken care of.
    pub(crate) fn drive_was_asked(&self, conversation: &Conversation, number: u64, question: &Question) -> bool {
        let Some(is_trusted) = conversation.drive.trusts() else { return false };
        if is_trusted {
            self.background.post_for(conversation.id, move |this, conversation| {
                this.shared.tell(LoopEvent::Agreed(conversation, number));
            });
        } else {
            conversation.gate.borrow_mut().cancel();
            self.end_drive(conversation, DriveEnd::Untrusted(question.clone()));
        }
        true
    }

    /// What the drive of a conversation came to, and how many requests were sent; `None` before its end.
    pub fn drive_result(&self, buffer: i32) -> Option<(DriveEnd, u32)> {
        let conversation = self.shared.conversation(buffer)?;
        let end = conversation.drive.end.borrow().clone()?;
        Some((end, conversation.drive.requests.get()))
    }

    /// Ends the drive of a conversation that is driven.
    pub(crate) fn end_drive(&self, conversation: &Conversation, end: DriveEnd) {
        if conversation.drive.end(end) {
            conversation.evaluated.take();
            self.shared.host.perform(HostEffect::Driven { buffer: conversation.buffer });
        }
    }
}

/// Why a drive ends where the conversation did. The message to the user of an editor speaks of keys.
fn reason(stop: &Stop, is_given: bool) -> Option<UserError> {
    let words = match stop {
        Stop::TurnLimit(limit) => {
            let option = if is_given { "--max-turns" } else { "tools.autopilot.max_turns" };
            let requests = if *limit == 1 { "request" } else { "requests" };
            format!("it was stopped after {limit} {requests} ({option}); run it again to go on")
        }
        Stop::Repetition(tools) => {
            format!("it was stopped: {tools} gave the same result for the same input three times")
        }
        Stop::Budget(overrun) => format!("it was stopped: {overrun}"),
        Stop::Incomplete => return None,
    };
    Some(UserError::new(words))
}

/// How a conversation is driven.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveOptions {
    /// Whether what the file brings is trusted: its frontmatter, and the files that it names.
    #[serde(rename = "trust")]
    pub is_trusted: bool,
    /// The maximum number of requests; `None` for what the options say.
    pub max_turns: Option<u32>,
    /// The provider, in place of that of the options and of the file.
    pub provider: Option<String>,
    /// The model, in the same way.
    pub model: Option<String>,
}

/// What a drive came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveEnd {
    /// The model has replied, and nothing is left to do.
    Done,
    /// Calls wait for a person ([`OpenCalls::pending_calls`](crate::components::OpenCalls::pending_calls)).
    Suspended,
    /// The user has to trust what the file brings.
    Untrusted(Question),
    /// Another process holds the conversation.
    Held(Option<Owner>),
    /// It cannot go on. `None` where the last message to the user says why.
    Failed(Option<UserError>),
}

/// The drive of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Drive {
    options: RefCell<Option<DriveOptions>>,
    /// Requests that were sent.
    pub(crate) requests: Cell<u32>,
    /// How many had been sent when the last step began, and whether calls were open then.
    last: Cell<Option<(u32, bool)>>,
    /// Whether the user wants it to stop.
    is_cancelled: Cell<bool>,
    end: RefCell<Option<DriveEnd>>,
}

impl Drive {
    /// A drive begins.
    pub(crate) fn begin(&self, options: DriveOptions) {
        self.options.replace(Some(options));
        self.requests.take();
        self.last.take();
        self.is_cancelled.take();
        self.end.take();
    }

    /// It ends. Says whether the conversation was driven.
    pub(crate) fn end(&self, end: DriveEnd) -> bool {
        let was_on = self.options.take().is_some();
        if was_on {
            self.end.replace(Some(end));
        }
        was_on
    }

    /// Whether the conversation is still driven, and the user wants that to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_on() && self.is_cancelled.get()
    }

    /// What is asked of the drive; `None` for a conversation that is not driven.
    pub(crate) fn asked<R>(&self, of: impl FnOnce(&DriveOptions) -> R) -> Option<R> {
        self.options.borrow().as_ref().map(of)
    }

    /// Whether what the file brings is trusted; `None` for a conversation that is not driven.
    pub(crate) fn trusts(&self) -> Option<bool> {
        self.asked(|options| options.is_trusted)
    }

    /// Whether the conversation is driven.
    pub(crate) fn is_on(&self) -> bool {
        self.options.borrow().is_some()
    }

    /// Whether the conversation is driven, or was.
    pub(crate) fn is_known(&self) -> bool {
        self.is_on() || self.end.borrow().is_some()
    }

    /// The maximum number of requests, if the drive sets one.
    pub(crate) fn max_turns(&self) -> Option<u32> {
        self.asked(|options| options.max_turns)?
    }

    /// The options of `config` with the provider and the model of the drive, as the words of `:Flemma switch`.
    pub(crate) fn layer(&self, config: &Config) -> Result<Option<Value>, UserError> {
        let Some((provider, model)) = self.asked(|options| (options.provider.clone(), options.model.clone())) else {
            return Ok(None);
        };
        if provider.is_none() && model.is_none() {
            return Ok(None);
        }
        let provider = provider.unwrap_or_else(|| config.provider.name().to_owned());
        let words: Vec<String> = [provider].into_iter().chain(model).collect();
        Switch::parse(&words, config).map(|switch| Some(switch.layer))
    }

    /// Whether a step from here would be more than the last one once again.
    pub(crate) fn is_progress(&self, has_open_calls: bool) -> bool {
        self.last.get().is_none_or(|(requests, had_open_calls)| {
            requests == self.requests.get() && had_open_calls && !has_open_calls
        })
    }
}
