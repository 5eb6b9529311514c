//! What conversations use, on its way from the session to the ledger and to the screen.
//!
//! When a request goes out, a [`PricedRequest`] notes whom it goes to and at what price: options may change before it ends.
//! Its count makes a record of that. An estimate reads the conversation in slices, as much at a time as the user does not
//! notice, and is made of it by another thread.

pub(crate) mod accounts;
pub(crate) mod budget;
pub(crate) mod known_messages;
pub(crate) mod replies;

use std::time::SystemTime;

use jiff::Timestamp;

use crate::{
    Conversation, HostEffect,
    components::Accounting,
    usage::{
        accounts::own_price,
        known_messages::{Notes, key_of},
    },
};
use flemma_agent::Level;
use flemma_chat::Speaker;
use flemma_model::Usage;
use flemma_provider::usage::{Estimate, MessageNote, Record, Totals, figures};

impl Accounting {
    /// Takes the count of a request that is over.
    pub(crate) fn account(&self, conversation: &Conversation, usage: Usage, complete: bool) {
        let (accounts, buffer) = (&conversation.accounts, conversation.buffer);
        let Some(record) = accounts.record(buffer, usage, complete) else { return };
        self.ledger.borrow_mut().add(record.clone());
        if let Some(cost) = record.cost.filter(|cost| *cost > 0.0) {
            self.spend(conversation, cost);
        }
        if let Some(line) = conversation.page.last_marker(Speaker::Assistant) {
            let note = conversation.replies.answered(line, Timestamp::now(), &record);
            if let Some(note) = note.filter(|_| complete) {
                self.keep_note(conversation, line, note);
            }
        }
        accounts.ended.replace(Some(record));
    }

    /// The sums of a buffer's conversation, or of everything.
    pub fn totals(&self, buffer: Option<i32>) -> Totals {
        let ledger = self.ledger.borrow();
        buffer.map_or_else(|| ledger.totals(), |buffer| ledger.totals_of(buffer))
    }

    /// What each request so far has used, oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.ledger.borrow().records().to_vec()
    }

    /// Forgets what was used so far.
    pub fn reset_usage(&self) {
        self.ledger.borrow_mut().reset();
    }

    /// The lines of `:Flemma usage`, none wider than `width` cells: of a buffer's conversation, if it has one, and of
    /// everything.
    pub fn usage_lines(&self, buffer: i32, width: usize) -> Vec<String> {
        let own = self.shared.conversation(buffer).map(|_| buffer);
        figures::table(&self.ledger.borrow(), own, Some(width))
    }

    /// Reads on in order to estimate what a conversation would use; says whether it has to be called again. The estimate
    /// is shown when it is there.
    pub fn estimate(&self, buffer: i32) -> bool {
        let Some(conversation) = self.shared.conversation(buffer) else { return false };
        if conversation.is_busy() {
            let message = "no estimate while a reply or a tool is running; Ctrl-C stops it";
            self.shared.host.notify(Level::Info, message);
            return false;
        }
        let page = &conversation.page;
        if page.estimate_on() {
            return true;
        }
        let file = self.frontmatter.of(&conversation);
        let fault = file.fault.as_ref().map(|fault| vec![fault.diagnostic.clone()]);
        let built = fault.map_or_else(|| page.with_document(|document, text| document.transcript(text)), Err);
        let request = match built {
            Ok(built) => {
                let turn = self.frontmatter.turn_tools(&conversation, &file);
                self.permissions.request(&conversation, &file, &turn, built)
            }
            Err(found) => {
                let first = found.first().map(|first| format!("line {}: {}", first.line + 1, first.message));
                let why = first.unwrap_or_else(|| "the conversation cannot be read".to_owned());
                self.shared.host.notify(Level::Warn, &format!("no estimate: {why}"));
                return false;
            }
        };
        let (provider, price) = (file.config.provider.name(), own_price(&file.config));
        let estimate = move || Estimate::of(&request, provider, price, SystemTime::now());
        let show = |this: &Self, _: &Conversation, estimate: Estimate| {
            this.shared.host.notify(Level::Info, &estimate.lines().join("; "));
            if let Some(warning) = estimate.warning() {
                this.shared.host.notify(Level::Warn, &warning);
            }
        };
        self.background.run_for(conversation.id, estimate, show);
        false
    }
}

/// What is known of messages, on its way to the file and from it.
impl Accounting {
    /// Reads what other sessions and editors have noted, away from the main thread.
    pub(crate) fn read_known_messages(&self) {
        let known = &self.known_messages;
        let Some(since) = known.begin_to_read() else { return };
        let file = self.notes.clone();
        let read = move || file.read(since).map(|(notes, reached)| (notes.into_iter().collect::<Notes>(), reached));
        self.background.run(read, |this: &Self, read| {
            if let Err(error) = &read {
                this.shared.log(Level::Warn, &format!("the notes about messages cannot be read: {error}"));
            }
            if this.known_messages.take(read.ok()) {
                for conversation in this.shared.conversations.all() {
                    this.shared.host.perform(HostEffect::Redraw { buffer: conversation.buffer });
                }
            }
            if this.known_messages.is_late.get() {
                this.read_known_messages();
            }
        });
    }

    /// Keeps what is known of the message with its marker on `line`, which has its final text.
    pub(crate) fn keep_note(&self, conversation: &Conversation, line: usize, note: MessageNote) {
        let key = conversation.page.with_parsed(|document, text| {
            let message = document.message_at(line).and_then(|at| document.messages().get(at))?;
            if message.start == line { key_of(message, text) } else { None }
        });
        let Some(key) = key else { return };
        let known = &self.known_messages;
        known.put(key.clone(), note.clone());
        let file = self.notes.clone();
        self.background.tidy("a note about a message was not kept", move || file.add(&key, &note));
    }
}
