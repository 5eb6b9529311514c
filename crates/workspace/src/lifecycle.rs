//! Conversations that come and go.

use std::{
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

use serde_json::Value;

use super::{Conversation, Workspace, effects::Effects, workspace::Leaving};
use flemma_agent::{Input, Level};
use flemma_tools::{Disk, overflow, rules::SHELL_TOOL};

/// How long the editor waits for the disk when it exits.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_millis(2);

impl Workspace {
    /// A buffer is a conversation from now on. Nothing of it is parsed yet: see [`Workspace::parse_on`].
    pub fn attach(&self, buffer: i32) -> Rc<Conversation> {
        self.detach(buffer);
        let (id, is_first) = self.conversations().next_id();
        if is_first {
            self.clean_outputs();
            self.clean_backups();
            self.ask_shell();
        }
        let file = self.flights().of(buffer).unwrap_or_default();
        let conversation = Rc::new(Conversation::new(id, buffer, self.host_handle(), file));
        self.conversations().insert(Rc::clone(&conversation));
        let file = self.place(&conversation).file;
        self.read_journal(&conversation, &file);
        self.hold(&conversation, &file);
        self.check_names(false);
        self.read_known_messages();
        conversation
    }

    /// Deletes old outputs, away from the main thread. What cannot be deleted today is deleted another day.
    fn clean_outputs(&self) {
        let outputs = self.outputs().folder().to_owned();
        let clean = move || drop(overflow::clean(&outputs, overflow::KEEP, SystemTime::now()));
        let _ = self.background().worker().spawn_blocking(clean);
    }

    /// Asks the shell what it is, away from the main thread, so that it is known before the first command is judged.
    fn ask_shell(&self) {
        let shell = self.config().tools.options_of(SHELL_TOOL).get("shell").and_then(Value::as_str).map(str::to_owned);
        let _ = self.background().worker().spawn_blocking(move || {
            Disk::default().grammar(shell.as_deref());
        });
    }

    /// A buffer is gone: what ran for it is stopped, and nothing more is written.
    pub fn detach(&self, buffer: i32) {
        let conversation = self.conversations().remove(buffer);
        if let Some(conversation) = conversation {
            let effects = Effects::new(self, &conversation);
            conversation.session().account(&effects, false);
            conversation.tasks().stop_all();
            self.leave(&conversation);
            self.lose_drive(&conversation);
        }
    }

    /// The editor is about to exit. What runs is stopped unless it is changing files, no call starts any more, and no request is
    /// sent. What the user has decided still counts: a call that is approved from now on stays approved.
    pub fn begin_to_leave(&self) {
        if !self.is_leaving() {
            self.leaving().set(Leaving::Stops);
        }
        for conversation in self.conversations().all() {
            if conversation.is_busy() {
                // Who exits takes no decision back.
                self.stop(&conversation, false);
            }
            conversation.tasks().wind_down();
        }
        self.leaving().set(Leaving::HasStopped);
    }

    /// The files are written after this, and then the editor exits. Calls that are changing files, and decisions, answers and
    /// expirations that are on their way to the journal, are waited for, but not for ever, and written into the documents.
    pub fn wind_up(&self) {
        self.begin_to_leave();
        self.settle_changes();
        // What comes of a record may be recorded itself, such as a rejection that came right after an approval.
        loop {
            let is_settled = self.settle_journal();
            let has_gone_on = self.go_on_after_commit();
            while self.go_on_after_commit() {}
            if !is_settled || !has_gone_on {
                break;
            }
        }
        for conversation in self.conversations().all().into_iter().filter(|conversation| conversation.is_busy()) {
            // It would go on with the next turn.
            self.feed(&conversation, [Input::Cancel]);
        }
    }

    /// Stops everything: the editor is about to exit. Waits for the records that are on their way to the disk, but not for
    /// ever.
    pub fn shut_down(&self) {
        for conversation in self.conversations().take_all() {
            conversation.tasks().stop_all();
            self.leave(&conversation);
        }
        self.settle_journal();
        self.settle_outboxes();
        self.outputs().settle(PATIENCE);
        self.leave_all();
    }

    /// Waits for the results of calls that are changing files.
    fn settle_changes(&self) {
        let end = Instant::now() + PATIENCE;
        let is_changing =
            || self.conversations().all().iter().any(|conversation| conversation.tasks().is_changing_files());
        while is_changing() && Instant::now() < end {
            std::thread::sleep(LOOK);
            self.drain();
        }
    }

    /// Waits for the records that are on their way to the disk. Says whether they are there.
    fn settle_journal(&self) -> bool {
        let is_settled = self.journal().settle(PATIENCE);
        if !is_settled {
            self.log(Level::Warn, "the journal could not be written before the editor exited");
        }
        is_settled
    }

    /// Whether nothing is under way in a buffer: its calls may wait for somebody, but nothing of it goes on by itself.
    #[must_use]
    pub fn is_at_rest(&self, buffer: i32) -> bool {
        self.conversation(buffer).is_none_or(|conversation| {
            let is_idle = !conversation.is_busy() && !conversation.is_review_due().get();
            // What was wanted may have to wait for the disk first.
            let is_wanted = conversation.is_wanted();
            // It may turn out that there is nothing to decide about.
            let is_looking = conversation.proposals().is_looking();
            is_idle
                && !is_wanted
                && !is_looking
                && !conversation.tasks().has_tools()
                && !conversation.records().is_under_way()
        })
    }
}
