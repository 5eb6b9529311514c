//! When something leaves the outbox: what the user has written while the conversation was at work.

use super::{
    Cursor, Departure, Effect,
    phase::{Deferred, ReviewCause},
    turn::Agent,
    view::View,
};
use flemma_chat::Tail;

impl Agent {
    /// The outbox has changed. Nothing of it goes out while anything is at work or waits for somebody, and not together with
    /// what the user has not sent.
    pub(super) fn outbox_changed(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        if self.is_busy() || !view.outbox().is_ready || !view.open_states().is_empty() {
            return;
        }
        if !view.tools_ready() {
            return self.load(Deferred::Outbox);
        }
        match view.tail() {
            Tail::Results => {}
            Tail::Unanswered => self.put_down(Departure::Unsent, effects),
            Tail::Nothing | Tail::Reply | Tail::CutOff => {
                self.is_paused = false;
                self.post(Departure::Next, effects);
            }
        }
    }

    /// A turn does not come. Where nobody waits for anything, what is queued would wait for ever.
    pub(super) fn released(&mut self, view: &dyn View, effects: &mut Vec<Effect>) {
        let is_over = !self.is_busy() && view.open_states().is_empty() && view.tail() != Tail::Results;
        if is_over && view.outbox().has_any {
            self.put_down(Departure::Unsent, effects);
        }
    }

    /// Writes what leaves the outbox, and sends it.
    pub(super) fn post(&mut self, departure: Departure, effects: &mut Vec<Effect>) {
        effects.push(Effect::UndoStep);
        effects.push(Effect::Post(departure));
        self.review_after(ReviewCause::Post, effects);
    }

    /// Writes what leaves the outbox under the prompt, and does not send it.
    pub(super) fn put_down(&mut self, departure: Departure, effects: &mut Vec<Effect>) {
        effects.push(Effect::UndoStep);
        effects.push(Effect::Post(departure));
        effects.push(Effect::Cursor(Cursor::Prompt));
    }

    /// What leaves the outbox with a key that sends: what steers together with results, and the next message if nothing else
    /// would be sent.
    pub(super) fn leaving_with(view: &dyn View) -> Option<Departure> {
        let outbox = view.outbox();
        if !outbox.is_ready {
            return None;
        }
        match view.tail() {
            Tail::Results => outbox.steers.then_some(Departure::Steering),
            Tail::Nothing | Tail::Reply => Some(Departure::Next),
            Tail::Unanswered | Tail::CutOff => None,
        }
    }
}
