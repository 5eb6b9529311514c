//! The deadlines of calls that wait.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{Conversation, HostEffect, calls::key::Keyed as _, components::Resolutions, resolutions::Resolution};
use flemma_agent::Level;
use flemma_chat::{OpenCall, Status};
use flemma_journal::{Life, Role};

/// How many calls expire at a time. The user's keys are heard in between.
pub(crate) const EXPIRED_AT_ONCE: usize = 16;

/// How soon deadlines are looked at again while the user is typing.
const TYPING: SignedDuration = SignedDuration::from_secs(1);

/// How often deadlines are looked at. A laptop that slept does not count its sleep, so the clock has to be read again.
const TICK: Duration = Duration::from_secs(30);

/// The deadlines of calls that wait.
impl Resolutions {
    /// Something was resolved: the file is written where nothing runs, and the next deadline is watched.
    pub(crate) fn came_to_rest(&self, conversation: &Conversation) {
        if !conversation.is_busy() {
            self.shared.host.perform(HostEffect::TurnOver { buffer: conversation.buffer });
        }
        self.watch_deadlines(conversation, false);
    }

    /// Looks at the deadlines of a conversation, and comes back when the next one may be over. `is_opening`: a file that was
    /// just opened may be anybody's, so only calls that the user's journal knows expire in it by themselves.
    pub(crate) fn watch_deadlines(&self, conversation: &Conversation, is_opening: bool) {
        let now = self.shared.host.now();
        let (mut next, mut expired): (Option<Timestamp>, _) = (None, 0);
        let deadlines = conversation.page.with_document(|document, _| {
            let states = document.calls().states().into_iter();
            let waiting = states.filter_map(|(id, block)| Some((id, block?)));
            let waiting = waiting.filter(|(_, block)| block.status == Status::Pending);
            waiting.filter_map(|(id, block)| Some((id.clone(), block.expires()?))).collect::<Vec<_>>()
        });
        for (id, expires) in deadlines {
            if conversation.records.is_claimed(&id) || conversation.session.is_working_on(&id) {
                continue;
            }
            if now < expires {
                next = Some(next.map_or(expires, |next| next.min(expires)));
            } else if self.shared.host.is_typing(conversation.buffer) {
                // Nothing is written and nothing is sent under their hands.
                let soon = now.saturating_add(TYPING).unwrap_or(now);
                next = Some(next.map_or(soon, |next| next.min(soon)));
            } else if let Some(call) = conversation.page.open_call(&id)
                && (!is_opening || matches!(conversation.records.life(&call.key()), Life::Open { .. }))
            {
                self.expire_call(conversation, &call);
                // One with the user's text in its block stays.
                let has_begun = conversation.records.is_claimed(&id) || conversation.page.open_call(&id).is_none();
                expired += usize::from(has_begun);
                if expired == EXPIRED_AT_ONCE {
                    next = Some(now);
                    break;
                }
            }
        }
        let Some(next) = next else { return };
        let left = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        let generation = conversation.deadlines.begin();
        // A millisecond more, so that the clock has passed the deadline.
        let pause = left.saturating_add(Duration::from_millis(1)).min(TICK);
        self.background.later_for(conversation.id, pause, move |this, conversation| {
            if conversation.deadlines.is_current(generation) {
                this.watch_deadlines(conversation, is_opening);
            }
        });
    }

    /// The deadline of a call has passed. While the user is typing here, or its block has their text, nothing happens: the
    /// next key of theirs deals with it.
    pub(crate) fn expire_call(&self, conversation: &Conversation, call: &OpenCall) {
        if !call.typed().is_empty() {
            if conversation.records.late.borrow_mut().insert(call.id.clone()) {
                let how = if self.shared.host.carries_on() { ": Ctrl-] moves it into your message" } else { "" };
                let message = format!(
                    "{}. Your text stays in its block, but it is too late for an answer{how}.",
                    self.deadline_passed(call)
                );
                self.shared.host.notify(Level::Warn, &message);
            }
        } else if !self.shared.host.is_typing(conversation.buffer) {
            self.resolve_call(conversation, &call.id, Resolution::Expire, Role::Clock, Box::new(|_, _| {}));
        }
    }

    /// Says that the deadline of a call has passed.
    fn deadline_passed(&self, call: &OpenCall) -> String {
        let expires = call.awaiting().and_then(|awaiting| awaiting.expires);
        let at = expires.map_or_else(String::new, |expires| format!(" at {}", self.shared.host.local_time(expires)));
        format!("{}: its deadline passed{at}", call.label())
    }

    /// A key meets a call whose deadline has passed.
    pub(crate) fn expire_by_key(&self, conversation: &Conversation, call: &OpenCall) {
        if call.typed().is_empty() {
            self.shared.host.notify(Level::Info, &self.deadline_passed(call));
        }
        self.resolve_call(conversation, &call.id, Resolution::Expire, Role::Clock, Box::new(|_, _| {}));
    }
}
