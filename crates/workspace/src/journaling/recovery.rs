//! A file that was opened: what the journal knows of its calls is brought together with what the file says.

use jiff::Timestamp;

use crate::{
    Conversation,
    calls::{Standing, asks_again, key::Keyed as _},
    components::{Drives, Recovery},
};
use flemma_agent::{Choice, Input, Level, UndoStep};
use flemma_chat::{OpenCall, Status};
use flemma_journal::{Asked, CallKey, Event, Life, Role};
use flemma_model::CallId;
use flemma_tools::Registry;

/// How many calls a message names.
const LISTED: usize = 5;

impl Recovery {
    /// Brings a conversation and its journal together, once both are read and no other process holds the conversation. What
    /// the user wanted in the meantime comes after that.
    pub(crate) fn recover(&self, conversation: &Conversation) {
        if !conversation.is_known() || self.ownership.check_held(conversation).is_err() {
            return;
        }
        let news = if conversation.is_busy() { Vec::new() } else { self.bring_together(conversation) };
        match conversation.holding.wanted.take() {
            // The user has decided about a call without knowing this of it.
            Some(wish) if wish.decides_about(&news) => {
                let message = "nothing was decided: the state of the call has changed since; look at it again";
                self.shared.host.notify(Level::Warn, message);
                self.ownership.lock_while_wanted(conversation);
            }
            Some(wish) => self.ownership.want_alone(conversation, wish),
            None => self.revive(conversation),
        }
        self.queue.read_outbox(conversation);
        self.drives.look_at_drive_later(conversation);
        self.reviews.look_for_proposals(conversation);
    }

    /// Gives the calls of which the journal knew more than the file.
    fn bring_together(&self, conversation: &Conversation) -> Vec<CallId> {
        let calls = conversation.page.open_calls();
        let known: Vec<CallId> =
            calls.iter().filter(|call| self.needs_recovery(conversation, call)).map(|call| call.id.clone()).collect();
        if !known.is_empty() {
            self.shared.feed(conversation, [Input::Recover(known.clone())]);
            self.resolutions.came_to_rest(conversation);
        }
        self.note_found(conversation, &calls);
        self.report_lost(conversation, &calls);
        self.undo.look_at_interrupted(conversation, &calls);
        self.journaling.shorten_journal(conversation);
        self.resolutions.watch_deadlines(conversation, true);
        known
    }

    /// Whether the journal says something of a call that its block does not.
    fn needs_recovery(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        match conversation.standing(call) {
            Standing::Ended(_) => true,
            // Where nothing runs, that is left to who opens it next.
            Standing::Interrupted if !self.shared.host.carries_on() => false,
            Standing::Interrupted => {
                // The file may be older than the start. Nobody may approve the call without knowing of it.
                let is_told = call.awaiting().is_some_and(|awaiting| asks_again(&awaiting));
                !is_told && !matches!(call.status(), Some(Status::Denied | Status::Rejected))
            }
            Standing::New | Standing::Approved(_) | Standing::Proposed => {
                // The file is older than what the call wants to write.
                call.status() == Some(Status::Running)
                    && conversation.records.has_proposed(&call.key())
                    && self.shared.host.carries_on()
                    && !conversation.is_at_work_on(&call.id)
            }
        }
    }

    /// Tells of calls that were started and that the file knows nothing of: it was not written in time.
    fn report_lost(&self, conversation: &Conversation, calls: &[OpenCall]) {
        let here: Vec<CallKey> = calls.iter().map(|call| call.key()).collect();
        let written = conversation.records.written.take();
        let (unfinished, finished) = conversation.records.with_ledger(|ledger| {
            let answered = |key: &CallKey| conversation.page.answered(key);
            let unfinished = ledger.unfinished().filter(|(key, _)| !here.contains(key));
            let unfinished = unfinished.filter(|(key, _)| answered(key) == ledger.of(key).endings);
            // If the file was written after the start, it had the call then, and the user has deleted it.
            let finished = ledger.finished().filter(|(_, at)| written.is_some_and(|written| written < *at));
            let finished = finished.filter(|(key, _)| !here.contains(key) && answered(key) < ledger.of(key).endings);
            (self.named(unfinished), self.named(finished))
        });
        if !unfinished.is_empty() && conversation.records.is_news(&unfinished) {
            self.shared.warn(&format!(
                "the editor ended while tools were running, before their calls were written to this file. It is not known \
                 whether they had an effect: {}",
                listed(&unfinished)
            ));
        }
        if !finished.is_empty() {
            self.shared.warn(&format!(
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
        let name =
            |(key, at): (&CallKey, _)| format!("`{}` ({}, {})", key.tool, key.id, self.shared.host.local_time(at));
        calls.into_iter().map(name).collect()
    }

    /// What the calls of a file wait for that was just opened, as far as that is not recorded: the command line does not know
    /// the tools of the user, and takes no decision about an input that was put in place of the one that was asked about. It
    /// begins no life, since nobody has looked at the calls here.
    pub(crate) fn note_found(&self, conversation: &Conversation, calls: &[OpenCall]) {
        let is_unrecorded = |call: &&OpenCall| {
            let key = call.key();
            let is_open = matches!(conversation.records.life(&key), Life::Open { .. });
            let is_asked = conversation.records.with_ledger(|ledger| ledger.of(&key).asked.is_some());
            call.awaiting().is_some() && !is_open && !is_asked
        };
        let found: Vec<&OpenCall> = calls.iter().filter(is_unrecorded).collect();
        if found.is_empty() || !self.shared.host.carries_on() {
            return;
        }
        let built_in = Registry::with_builtins();
        let records = found.into_iter().filter_map(|call| {
            let key = call.key();
            let is_changed = conversation.records.with_ledger(|ledger| ledger.is_changed(&key));
            let tool =
                self.shared.toolbox.get(&call.name).filter(|_| is_changed || built_in.get(&call.name).is_none())?;
            let kind = self.calls.effective_kind(conversation, call).to_string();
            let asked = Asked { kind, schema: tool.result_schema.as_deref().cloned() };
            Some(self.journaling.record(conversation, key, Event::Asked(asked), Role::Policy))
        });
        self.journaling.note(conversation, records.collect());
    }

    /// Carries a conversation on that was just opened, if a decision or an answer of the command line has not had its effect
    /// yet. It takes the way of a key, so what the file brings has to be trusted first.
    pub(crate) fn revive(&self, conversation: &Conversation) {
        let is_first = !conversation.is_revived.replace(true);
        let is_busy = conversation.is_busy() && !conversation.session.is_recovering();
        if !is_first || !self.shared.host.carries_on() || is_busy || conversation.drive.is_on() {
            return;
        }
        let Some(input) = self.drives.left_to_do(conversation) else { return };
        // Without autopilot, each step is the user's. What the file says of it may not be trusted yet, but that is asked first.
        if self.frontmatter.of(conversation).config.tools.autopilot.enabled {
            self.ownership.want_alone(conversation, input.into());
        }
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

/// A conversation whose calls the command line has resolved while nobody had it open. Who opens it next carries it on.
impl Drives {
    /// What the command line has left to be done: to start calls that it approved, or to send a last result.
    pub(crate) fn left_to_do(&self, conversation: &Conversation) -> Option<Input> {
        let open = conversation.page.open_calls();
        if open.is_empty() {
            let calls = conversation.page.with_document(|document, text| document.calls().at_end(text));
            let is_left = conversation.records.with_ledger(|ledger| {
                let mut endings = calls.iter().filter_map(|id| ledger.last_ending(id));
                endings.any(|ending| ending.by.role == Role::CommandLine)
            });
            return is_left.then_some(Input::CarryOn);
        }
        let is_approved = |call: &&OpenCall| matches!(conversation.standing(call), Standing::Approved(by) if by.role == Role::CommandLine);
        let approved: Vec<&OpenCall> = open.iter().filter(is_approved).collect();
        // The file may not have got the decision.
        let pending = approved.iter().filter(|call| call.awaiting().is_some()).map(|call| call.id.clone());
        let pending: Vec<CallId> = pending.collect();
        match (approved.is_empty(), pending.is_empty()) {
            (true, _) => None,
            (false, true) => Some(Input::CarryOn),
            (false, false) => Some(Input::Decide(pending, Choice::Approve, UndoStep::Own)),
        }
    }
}
