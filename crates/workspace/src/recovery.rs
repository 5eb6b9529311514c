//! A file that was opened: what the journal knows of its calls is brought together with what the file says.

use jiff::Timestamp;

use super::{Conversation, Workspace, call_key::Keyed as _, standing::Standing, suspension::asks_again};
use flemma_agent::{Input, Level};
use flemma_chat::{OpenCall, Status};
use flemma_journal::CallKey;
use flemma_model::{CallId, UserError};

/// How many calls a message names.
const LISTED: usize = 5;

impl Workspace {
    /// Parses the next lines of a file that was just opened; says whether there are more. After the last of them the
    /// conversation is brought together with its journal.
    pub fn parse_on(&self, buffer: i32) -> bool {
        let Some(conversation) = self.conversation(buffer) else { return false };
        let more = conversation.parse_on();
        if !more {
            self.recover(&conversation);
            self.look_at_unsettled_later();
        }
        more
    }

    /// Whether everything is known of a buffer that its calls depend on: its text, its journal, who holds it.
    #[must_use]
    pub fn is_settled(&self, buffer: i32) -> bool {
        self.conversation(buffer).is_some_and(|conversation| {
            let holding = conversation.holding();
            let is_held_known = conversation.is_held_here() || holding.other().is_some();
            let is_read_or_not = conversation.records().problem().is_some() || conversation.is_known();
            is_read_or_not && is_held_known && self.toolbox().is_ready()
        })
    }

    /// Whether it is known what the calls of a conversation are.
    ///
    /// # Errors
    /// What is not read, and why not. If it is the journal, it is tried again.
    pub(super) fn check_known(&self, conversation: &Conversation) -> Result<(), UserError> {
        if conversation.is_known() {
            return Ok(());
        }
        let problem = conversation.records().problem();
        self.need_journal(conversation);
        let unread = || UserError::new("the conversation and its journal are not read yet; try again in a moment");
        Err(problem.unwrap_or_else(unread))
    }

    /// Brings a conversation and its journal together, once both are read and no other process holds the conversation. What
    /// the user wanted in the meantime comes after that.
    pub(super) fn recover(&self, conversation: &Conversation) {
        if !conversation.is_known() || self.check_held(conversation).is_err() {
            return;
        }
        let news = if conversation.is_busy() { Vec::new() } else { self.bring_together(conversation) };
        match conversation.holding().take_wish() {
            // The user has decided about a call without knowing this of it.
            Some(wish) if wish.decides_about(&news) => {
                let message = "nothing was decided: the state of the call has changed since; look at it again";
                self.host().notify(Level::Warn, message);
                self.lock_while_wanted(conversation);
            }
            Some(wish) => self.want_alone(conversation, wish),
            None => self.revive(conversation),
        }
        self.read_outbox(conversation);
        self.look_at_drive_later(conversation);
        self.look_for_proposals(conversation);
    }

    /// Gives the calls of which the journal knew more than the file.
    fn bring_together(&self, conversation: &Conversation) -> Vec<CallId> {
        let calls = conversation.page().open_calls();
        let known: Vec<CallId> =
            calls.iter().filter(|call| self.needs_recovery(conversation, call)).map(|call| call.id.clone()).collect();
        if !known.is_empty() {
            self.feed(conversation, [Input::Recover(known.clone())]);
            self.came_to_rest(conversation);
        }
        self.note_found(conversation, &calls);
        self.report_lost(conversation, &calls);
        self.look_at_interrupted(conversation, &calls);
        self.shorten_journal(conversation);
        self.watch_deadlines(conversation, true);
        known
    }

    /// Whether the journal says something of a call that its block does not.
    fn needs_recovery(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        match self.standing(conversation, call) {
            Standing::Ended(_) => true,
            // Where nothing runs, that is left to who opens it next.
            Standing::Interrupted if !self.host().carries_on() => false,
            Standing::Interrupted => {
                let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
                // The file may be older than the start. Nobody may approve the call without knowing of it.
                let is_told = call.awaiting().is_some_and(|awaiting| asks_again(&awaiting));
                !is_told && !matches!(status, Some(Status::Denied | Status::Rejected))
            }
            Standing::New | Standing::Approved(_) | Standing::Proposed => {
                let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
                // The file is older than what the call wants to write.
                status == Some(Status::Running)
                    && self.has_proposed(conversation, call)
                    && self.host().carries_on()
                    && !conversation.is_at_work_on(&call.id)
            }
        }
    }

    /// Tells of calls that were started and that the file knows nothing of: it was not written in time.
    fn report_lost(&self, conversation: &Conversation, calls: &[OpenCall]) {
        let here: Vec<CallKey> = calls.iter().map(|call| call.key()).collect();
        let written = conversation.records().take_written();
        let (unfinished, finished) = conversation.records().with_ledger(|ledger| {
            let answered = |key: &CallKey| conversation.page().answered(key);
            let unfinished = ledger.unfinished().filter(|(key, _)| !here.contains(key));
            let unfinished = unfinished.filter(|(key, _)| answered(key) == ledger.endings(key));
            // If the file was written after the start, it had the call then, and the user has deleted it.
            let finished = ledger.finished().filter(|(_, at)| written.is_some_and(|written| written < *at));
            let finished = finished.filter(|(key, _)| !here.contains(key) && answered(key) < ledger.endings(key));
            (self.named(unfinished), self.named(finished))
        });
        if !unfinished.is_empty() && conversation.records().is_news(&unfinished) {
            self.warn(&format!(
                "the editor ended while tools were running, before their calls were written to this file. It is not known \
                 whether they had an effect: {}",
                listed(&unfinished)
            ));
        }
        if !finished.is_empty() {
            self.warn(&format!(
                "tools have run whose calls are not in this file, because it was not written after that: {}. Their results \
                 are only in the journal (:help flemma-waiting-write)",
                listed(&finished)
            ));
        }
    }

    /// Calls as messages name them, the earliest first.
    fn named<'a>(&self, calls: impl Iterator<Item = (&'a CallKey, Timestamp)>) -> Vec<String> {
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by_key(|(_, at)| *at);
        let name = |(key, at): (&CallKey, _)| format!("`{}` ({}, {})", key.tool, key.id, self.host().local_time(at));
        calls.into_iter().map(name).collect()
    }
}

/// The first calls of many.
fn listed(calls: &[String]) -> String {
    let first = calls[..calls.len().min(LISTED)].join(", ");
    match calls.len().saturating_sub(LISTED) {
        0 => first,
        more => format!("{first}, and {more} more"),
    }
}
