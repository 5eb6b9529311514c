//! A call that arrives in a reply is new, whatever the journal holds of calls with its key.
//!
//! Vendors reuse ids. The user may have deleted the call before, or its whole conversation: what was decided about that one, and what
//! came of it, is not about this one. Only a run without an end is not forgotten. A call that is only read from a file is the one that
//! the journal knows.

use crate::{Conversation, execution::Execution};
use flemma_journal::{CallKey, Event, Life, RecordedResult, Role};
use flemma_model::{CallId, ToolInput};
use flemma_text::code_span::plain;

/// How the life of a call ends whose key another call gets.
const REPLACED: &str = "The call was deleted before it had a result.";

impl Execution {
    /// A call has arrived, and is not in the document yet: the journal is told before a file can have it.
    pub(crate) fn note_new(&self, conversation: &Conversation, call: &CallId, tool: &str, input: &ToolInput) {
        // As the document will have them.
        let key = CallKey::of(&CallId(plain(&call.0)), &plain(tool), input);
        let records = &conversation.records;
        self.drop_suspended(conversation, &key.id);
        conversation.tasks.forget_judged(&key);
        records.take_start(&key);
        let life = records.life(&key);
        if life == Life::Unknown && records.with_ledger(|ledger| ledger.asked(&key).is_none()) {
            return;
        }
        let result = RecordedResult { output: REPLACED.to_owned(), is_error: true, ..RecordedResult::default() };
        let end = match life {
            // It may have run, and the editor ended before the file had it: this may be the same call again. So the user is asked.
            Life::Open { started: Some(_), .. } => Some(Event::WentOn),
            Life::Open { started: None, .. } => Some(Event::Resolved(result)),
            // The same, and its result is known.
            Life::Ended if records.is_lost(&key) => return,
            Life::Unknown | Life::Ended => None,
        };
        let events = end.into_iter().chain([Event::Opened]);
        let records = events.map(|event| self.journaling.record(conversation, key.clone(), event, Role::Document));
        self.journaling.note(conversation, records.collect());
    }
}
