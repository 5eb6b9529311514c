//! What waits until a conversation is read and it is known who holds it, but not for ever. Every drain looks whether that is so.

use std::time::{Duration, Instant};

use super::{Workspace, unsettled::Waiting};

/// How long that may take. After that, what waits is done anyway, and hears what is missing.
const PATIENCE: Duration = Duration::from_secs(5);

impl Workspace {
    /// Does something as soon as the conversation in a buffer is settled, or there is none.
    pub(super) fn when_settled(&self, buffer: i32, then: impl FnOnce(&Self) + 'static) {
        if self.is_settled_or_gone(buffer) {
            return then(self);
        }
        let until = Instant::now() + PATIENCE;
        self.unsettled().push(Waiting { buffer, until, then: Box::new(then) });
        let mailbox = self.background().mailbox().clone();
        let _ = self.background().worker().later(PATIENCE, move || mailbox.job(|_: &Self| {}));
    }

    /// Does what waited for conversations that are settled now.
    pub(super) fn look_at_unsettled(&self) {
        for waiting in self.unsettled().take(|buffer| self.is_settled_or_gone(buffer)) {
            (waiting.then)(self);
        }
    }

    /// The same with the next drain: what has happened was not told by the background.
    pub(super) fn look_at_unsettled_later(&self) {
        if !self.unsettled().is_empty() {
            self.post(Box::new(|_| {}));
        }
    }

    fn is_settled_or_gone(&self, buffer: i32) -> bool {
        self.conversation(buffer).is_none() || self.is_settled(buffer)
    }
}
