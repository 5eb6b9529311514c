//! Starts that are recorded and have not happened yet: they may still be taken back.

use std::rc::Rc;

use crate::{Conversation, journaling::Journaling, shared::Shared};
use flemma_agent::Input;
use flemma_journal::{CallKey, Decision, Event, Role};

/// Starts that are recorded and have not happened yet.
pub struct Starts {
    pub(crate) shared: Rc<Shared>,
    pub(crate) journaling: Rc<Journaling>,
}

impl Starts {
    /// The user has stopped everything before their approval of these calls was on the disk: it does not count, and those of
    /// which the start was recorded did not start.
    pub(crate) fn take_back(&self, conversation: &Conversation, approved: Vec<CallKey>, started: Vec<CallKey>) {
        let waits = approved.into_iter().filter(|key| !started.contains(key));
        let records = waits.map(|key| self.journaling.record(conversation, key, Event::Opened, Role::User)).collect();
        self.journaling.note(conversation, records);
        self.withdraw(conversation, started);
    }

    /// The editor exits before these calls start, of which some were recorded as started. They stay approved, for what they were
    /// approved for, and Ctrl-] starts them when the file is open again.
    pub(crate) fn keep_approved(&self, conversation: &Conversation, approved: Vec<CallKey>, started: Vec<CallKey>) {
        self.put_off(conversation, started);
        let calls = approved.into_iter().filter(|key| conversation.is_open(key)).map(|key| key.id).collect();
        self.shared.feed(conversation, [Input::KeepApproved(calls)]);
    }

    /// These starts were recorded, and did not happen. Whoever approved the calls still has.
    pub(crate) fn put_off(&self, conversation: &Conversation, started: impl IntoIterator<Item = CallKey>) {
        let mut records = Vec::new();
        for key in started {
            let (bound, role) = conversation
                .records
                .with_ledger(|ledger| (ledger.bound(&key).cloned(), ledger.approval(&key).map(|(by, _)| by.role)));
            let again = role.map(|_| Event::Decided(Decision::Approved));
            let events = [Event::Withdrawn].into_iter().chain(bound.map(|shown| Event::Bound { shown })).chain(again);
            let role = role.unwrap_or(Role::Policy);
            records.extend(events.map(|event| self.journaling.record(conversation, key.clone(), event, role)));
        }
        self.journaling.note(conversation, records);
    }

    /// The starts of these calls are recorded: they may start once. What was edited meanwhile is another call.
    pub(crate) fn let_start(&self, conversation: &Conversation, started: Vec<CallKey>) {
        let (same, other): (Vec<_>, Vec<_>) = started.into_iter().partition(|key| conversation.is_open(key));
        same.into_iter().for_each(|key| conversation.records.let_start(key));
        self.withdraw(conversation, other);
    }

    /// These starts were recorded, and did not happen.
    pub(crate) fn withdraw(&self, conversation: &Conversation, started: impl IntoIterator<Item = CallKey>) {
        let records =
            started.into_iter().map(|key| self.journaling.record(conversation, key, Event::Withdrawn, Role::User));
        self.journaling.note(conversation, records.collect());
    }
}
