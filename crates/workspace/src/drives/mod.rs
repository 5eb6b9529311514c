//! Conversations that are carried on without a user, until they are done, wait for a person, or fail.
//!
//! A drive does what a user would do who only ever presses Ctrl-]: it decides nothing, and what the file brings has to be
//! trusted first. It looks at a conversation whenever it has come to rest. A key press is worth repeating only if it has
//! brought all calls to their results without a request, as when the journal had the results; everything else that keeps a
//! conversation from going on is a failure, which the user was told of.

pub(crate) mod drive;

use std::rc::Rc;

use crate::{
    Conversation, HostEffect,
    background::Background,
    calls::OpenCalls,
    drives::drive::{DriveEnd, DriveOptions},
    event::LoopEvent,
    ownership::Ownership,
    ports::Question,
    shared::Shared,
    writer::Writer,
};
use flemma_agent::{Input, Stop};
use flemma_chat as chat;
use flemma_chat::{AwaitKind, Tail};
use flemma_model::UserError;

/// Conversations that are carried on without a user.
pub struct Drives {
    pub(crate) shared: Rc<Shared>,
    pub(crate) background: Background<Self>,
    pub(crate) ownership: Rc<Ownership>,
    pub(crate) calls: Rc<OpenCalls>,
}

impl Drives {
    /// Carries the conversation in a buffer on without a user. [`HostEffect::Driven`] tells of the end.
    pub fn drive(&self, buffer: i32, options: DriveOptions) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        conversation.drive.begin(options);
        conversation.evaluated.forget();
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
        conversation.drive.cancel();
        if conversation.is_busy() || conversation.gate().is_waiting() || conversation.holding.has_wish() {
            // Who stops it takes no decision back.
            self.shared.tell(LoopEvent::Stop(&conversation));
        }
        self.look_at_drive_later(&conversation);
        true
    }

    /// Another process has taken a driven conversation over, and carries it on.
    pub(crate) fn drive_was_taken(&self, conversation: &Conversation) {
        self.end_drive(conversation, DriveEnd::Held(None));
    }

    /// The buffer of a driven conversation is gone.
    pub(crate) fn lose_drive(&self, conversation: &Conversation) {
        let problem = UserError::new("something in Neovim has unloaded the conversation or read it again");
        self.end_drive(conversation, DriveEnd::Failed(Some(problem)));
    }

    /// What has happened may have brought a driven conversation to rest.
    pub(crate) fn look_at_drives(&self) {
        let mut driven = self.shared.conversations.all();
        driven.retain(|conversation| conversation.drive.is_on());
        for conversation in driven {
            self.look_at_drive(&conversation);
        }
    }

    pub(crate) fn look_at_drive_later(&self, conversation: &Conversation) {
        if conversation.drive.is_on() {
            // Every drain looks at the drives.
            self.background.post_for(conversation.id(), |_, _| {});
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
        if !is_known || conversation.gate().is_waiting() || !conversation.is_at_rest() {
            return;
        }
        let drive = &conversation.drive;
        let has_open_calls = !conversation.page.open_ids().is_empty();
        let stop = conversation.session.stop().filter(|_| drive.has_begun());
        if drive.is_stopping() {
            return self.end_drive(conversation, DriveEnd::Failed(Some(UserError::new("it was stopped"))));
        }
        if let Some(stop) = stop {
            let end = DriveEnd::Failed(reason(&stop, drive.max_turns().is_some()));
            return self.end_drive(conversation, end);
        }
        if has_open_calls && drive.has_begun() {
            let waiting = self.calls.pending_calls(Some(conversation.buffer()));
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
        conversation.drive.begin_step(has_open_calls);
        let input = self.left_to_do(conversation).unwrap_or(Input::Advance);
        self.ownership.want_alone(conversation, input.into());
        self.look_at_drive_later(conversation);
    }

    /// A driven conversation may be sent. A reply at its end that was cut off is asked for again.
    pub(crate) fn drop_cut_off(&self, conversation: &Conversation) {
        if conversation.drive.is_on() && !conversation.is_busy() {
            let edits = conversation.page.with_document(|document, text| chat::drop_cut_off(document.messages(), text));
            Writer::new(&self.shared, conversation).apply(&edits);
        }
    }

    /// A driven conversation has a question to the user. Says whether that was taken care of.
    pub(crate) fn drive_was_asked(&self, conversation: &Conversation, number: u64, question: &Question) -> bool {
        let Some(is_trusted) = conversation.drive.trusts() else { return false };
        if is_trusted {
            self.background.post_for(conversation.id(), move |this, conversation| {
                this.shared.tell(LoopEvent::Agreed(conversation, number));
            });
        } else {
            conversation.gate().cancel();
            self.end_drive(conversation, DriveEnd::Untrusted(question.clone()));
        }
        true
    }

    /// What the drive of a conversation came to, and how many requests were sent; `None` before its end.
    #[must_use]
    pub fn drive_result(&self, buffer: i32) -> Option<(DriveEnd, u32)> {
        self.shared.conversation(buffer)?.drive.result()
    }

    fn end_drive(&self, conversation: &Conversation, end: DriveEnd) {
        if conversation.drive.end(end) {
            conversation.evaluated.forget();
            self.shared.host.perform(HostEffect::Driven { buffer: conversation.buffer() });
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
        Stop::Incomplete => return None,
    };
    Some(UserError::new(words))
}
