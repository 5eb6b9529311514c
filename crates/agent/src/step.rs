//! One step of the state machine.

use std::collections::HashMap;

use super::{Level, effect::Effect, view::View};
use flemma_chat::{AwaitKind, OpenCall};

/// What a step sees, and what it asks to be done.
pub(super) struct Step<'a> {
    /// The document and the policies as they were before the effects of this step.
    pub view: &'a dyn View,
    /// What is to be done, in order.
    pub effects: Vec<Effect>,
}

impl<'a> Step<'a> {
    pub fn new(view: &'a dyn View) -> Self {
        Self { view, effects: Vec::new() }
    }

    pub fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Tells the user something.
    pub fn tell(&mut self, level: Level, message: impl Into<String>) {
        self.push(Effect::Notify(level, message.into()));
    }

    pub fn info(&mut self, message: impl Into<String>) {
        self.tell(Level::Info, message);
    }

    /// Warns the user of a call.
    pub fn warn(&mut self, call: &OpenCall, what: &str) {
        self.tell(Level::Warn, format!("{}: {what}", call.label()));
    }

    /// Tells the user something, with a sentence about what to do in an editor.
    pub fn advise(&mut self, level: Level, message: impl Into<String>, advice: &'static str) {
        self.push(Effect::Advise(level, message.into(), advice));
    }

    /// Tells the user that a call has its result already: of the tool, of somebody's decision or answer, or of the clock.
    pub fn restored(&mut self, call: &OpenCall) {
        let what = match self.view.suspends_as(call) {
            Some(AwaitKind::Elicitation) => "this question was resolved before, and its result was restored",
            _ => "this call was resolved before, and its result was restored; nothing was run",
        };
        self.info(format!("{}: {what}", call.label()));
    }

    /// Tells the user if something is wrong with the document. Then no tool runs.
    pub fn is_at_fault(&mut self) -> bool {
        let Some(fault) = self.view.fault() else { return false };
        self.push(Effect::Diagnose);
        self.tell(Level::Error, format!("No tool was run: {fault}"));
        true
    }

    /// The open calls, one per id. Vendors reuse ids; of two open calls with the same id, edits apply to the last.
    pub fn calls(&self) -> Vec<OpenCall> {
        let calls = self.view.open_calls();
        let last: HashMap<_, _> = calls.iter().enumerate().map(|(index, call)| (call.id.clone(), index)).collect();
        let mut index = 0..;
        calls.into_iter().filter(|call| index.next() == last.get(&call.id).copied()).collect()
    }
}
