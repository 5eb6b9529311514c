//! Conversations that come, change and go.

use std::{
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

use serde_json::Value;

use crate::{
    Conversation, DriveEnd, HostEffect, Workspace,
    effects::Effects,
    page::{Redraw, Writing},
    shared::Leaving,
};
use flemma_agent::{Input, Level};
use flemma_chat::{self as chat, Author, Change};
use flemma_model::UserError;
use flemma_runtime::ConversationId;
use flemma_tools::{Disk, overflow, rules::SHELL_TOOL};

/// How long the editor waits for the disk when it exits.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_millis(2);

impl Workspace {
    /// A buffer is a conversation from now on. Nothing of it is parsed yet: see [`Workspace::parse_on`].
    pub fn attach(&self, buffer: i32) -> Rc<Conversation> {
        self.detach(buffer);
        let id = self.shared.conversations.ids.begin();
        // The first one.
        if id == 1 {
            self.clean_outputs();
            self.undo.clean_backups();
            self.ask_shell();
        }
        let file = self.saving.flights.borrow().get(&buffer).cloned().unwrap_or_default();
        let conversation = Rc::new(Conversation::new(ConversationId(id), buffer, &self.shared.host, file));
        self.shared.conversations.by_buffer.borrow_mut().insert(buffer, Rc::clone(&conversation));
        let file = self.shared.place(&conversation).file;
        self.journaling.read_journal(&conversation, &file);
        self.ownership.hold(&conversation, &file);
        self.shared.check_names(false);
        self.usage.read_known_messages();
        conversation
    }

    /// Deletes old outputs, away from the main thread. What cannot be deleted today is deleted another day.
    fn clean_outputs(&self) {
        let outputs = self.shared.outputs.folder().to_owned();
        let clean = move || drop(overflow::clean(&outputs, overflow::KEEP, SystemTime::now()));
        let _ = self.background.worker.spawn_blocking(clean);
    }

    /// Asks the shell what it is, away from the main thread, so that it is known before the first command is judged.
    fn ask_shell(&self) {
        let shell =
            self.shared.config().tools.options_of(SHELL_TOOL).get("shell").and_then(Value::as_str).map(str::to_owned);
        let _ = self.background.worker.spawn_blocking(move || {
            Disk::default().grammar(shell.as_deref());
        });
    }

    /// A buffer is gone: what ran for it is stopped, and nothing more is written.
    pub fn detach(&self, buffer: i32) {
        let conversation = self.shared.conversations.by_buffer.borrow_mut().remove(&buffer);
        if let Some(conversation) = conversation {
            let effects = Effects::new(self, &conversation);
            conversation.session.account(&effects, false);
            // What it had still to write was for the text that is gone.
            conversation.session.abandon();
            conversation.tasks.stop_all();
            self.ownership.leave(&conversation);
            let problem = UserError::new("something in Neovim has unloaded the conversation or read it again");
            self.drives.end_drive(&conversation, DriveEnd::Failed(Some(problem)));
        }
    }

    /// The editor is about to exit. What runs is stopped unless it is changing files, no call starts any more, and no request is
    /// sent. What the user has decided still counts: a call that is approved from now on stays approved.
    pub fn begin_to_leave(&self) {
        if !self.shared.is_leaving() {
            self.shared.leaving.set(Leaving::Stops);
        }
        for conversation in self.shared.conversations.all() {
            if conversation.is_busy() {
                // Who exits takes no decision back.
                self.stop(&conversation, false);
            }
            conversation.tasks.wind_down();
        }
        self.shared.leaving.set(Leaving::HasStopped);
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
        for conversation in self.shared.conversations.all().into_iter().filter(|conversation| conversation.is_busy()) {
            // It would go on with the next turn.
            self.shared.feed(&conversation, [Input::Cancel]);
        }
    }

    /// Stops everything: the editor is about to exit. Waits for the records that are on their way to the disk, but not for
    /// ever.
    pub fn shut_down(&self) {
        for conversation in self.shared.conversations.by_buffer.take().into_values() {
            conversation.tasks.stop_all();
            self.ownership.leave(&conversation);
        }
        self.settle_journal();
        self.queue.settle_outboxes();
        self.shared.outputs.settle(PATIENCE);
        self.ownership.leave_all();
    }

    /// Waits for the results of calls that are changing files, and for what the disk says of those that were decided about.
    fn settle_changes(&self) {
        let end = Instant::now() + PATIENCE;
        let is_changing =
            || {
                self.shared.conversations.all().iter().any(|conversation| {
                    conversation.tasks.is_changing_files() || !conversation.lookups.borrow().is_empty()
                })
            };
        while is_changing() && Instant::now() < end {
            std::thread::sleep(LOOK);
            self.drain();
        }
    }

    /// Waits for the records that are on their way to the disk. Says whether they are there.
    fn settle_journal(&self) -> bool {
        let is_settled = self.journaling.journal.settle(PATIENCE);
        if !is_settled {
            self.shared.log(Level::Warn, "the journal could not be written before the editor exited");
        }
        is_settled
    }

    /// Whether nothing is under way in a buffer: its calls may wait for somebody, but nothing of it goes on by itself.
    pub fn is_at_rest(&self, buffer: i32) -> bool {
        self.conversation(buffer).is_none_or(|conversation| conversation.is_at_rest())
    }

    /// A buffer has another name.
    pub fn renamed(&self, buffer: i32) {
        if let Some(conversation) = self.shared.conversation(buffer) {
            let file = self.shared.place(&conversation).file;
            self.undo.carry_changes_over(&conversation, &file);
            self.journaling.read_journal(&conversation, &file);
            self.ownership.hold(&conversation, &file);
        }
    }

    /// Parses the next lines of a file that was just opened; says whether there are more. After the last of them the
    /// conversation is brought together with its journal.
    pub fn parse_on(&self, buffer: i32) -> bool {
        let Some(conversation) = self.shared.conversation(buffer) else { return false };
        let more = conversation.page.parse_on();
        if !more {
            self.recovery.recover(&conversation);
            self.background.wake();
        }
        more
    }

    /// Whether everything is known of a buffer that its calls depend on: its text, its journal, who holds it.
    pub fn is_settled(&self, buffer: i32) -> bool {
        self.shared.conversation(buffer).is_some_and(|conversation| {
            let holding = &conversation.holding;
            let is_held_known = conversation.holding.is_here() || holding.other().is_some();
            let is_read_or_not = conversation.records.problem().is_some() || conversation.is_known();
            is_read_or_not && is_held_known && self.shared.toolbox.is_ready()
        })
    }

    /// The editor has a user interface now: it can run the calls that wait for one.
    pub fn ui_attached(&self) {
        for conversation in self.shared.conversations.all() {
            // What is still being read has offered nothing yet. To read it here would delay the first screen.
            if conversation.page.is_complete.get() {
                self.execution.offer_again(&conversation);
            }
            if conversation.is_known() && conversation.holding.is_here() {
                self.queue.read_outbox(&conversation);
            }
        }
    }

    /// The text of a buffer changed: the lines `first..old_last` are now the lines `first..new_last`. `author` changed it,
    /// unless Flemma did.
    ///
    /// Gives what may look different now. `None` without a conversation.
    pub fn changed(&self, buffer: i32, change: Change, author: Author) -> Option<Redraw> {
        let conversation = self.shared.conversation(buffer)?;
        let author = self.author(&conversation, author);
        conversation.replies.follow(change);
        let changed = conversation.page.changed([change], author);
        Some(self.after_change(&conversation, changed))
    }

    /// The user has changed each of the lines in these runs by itself: see [`flemma_chat::Provenance::follow_lines`].
    /// Gives what [`Workspace::changed`] does.
    pub fn changed_lines(&self, buffer: i32, runs: &[[usize; 2]], step: u64) -> Option<Redraw> {
        let conversation = self.shared.conversation(buffer)?;
        let author = self.author(&conversation, Author::Command { step });
        let changed = conversation.page.changed_lines(runs, step, author);
        Some(self.after_change(&conversation, changed))
    }

    /// Who has really changed the text.
    fn author(&self, conversation: &Conversation, author: Author) -> Author {
        match conversation.page.writing.get() {
            Writing::Nothing => author,
            Writing::Others => Author::Stranger,
            Writing::Theirs => Author::Command { step: OWN_STEP },
            Writing::Its if conversation.session.is_replying() => Author::Model,
            Writing::Its => Author::Flemma,
        }
    }

    fn after_change(&self, conversation: &Conversation, changed: Redraw) -> Redraw {
        let (page, is_busy) = (&conversation.page, conversation.is_busy());
        let is_writing = page.writing.get() != Writing::Nothing;
        if changed.has_tools {
            self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
            page.is_touched.set(!is_writing && page.is_complete.get() && !is_busy);
        }
        if page.is_unsettled() {
            self.shared.host.perform(HostEffect::Unsettled { buffer: conversation.buffer });
        }
        if is_busy && !is_writing {
            self.stop_for_foreign_change(conversation);
        }
        changed
    }

    /// The user's edit of a buffer is complete.
    pub fn noticed(&self, buffer: i32) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        conversation.page.settle();
        let is_here = conversation.holding.elsewhere().is_none();
        if conversation.page.is_touched.take() && !conversation.is_busy() && is_here {
            conversation.session.notice(&Effects::new(self, &conversation));
            self.resolutions.watch_deadlines(&conversation, true);
        }
        self.reviews.look_for_proposals(&conversation);
    }

    /// A buffer was read anew from its file; says whether [`Workspace::parse_on`] has more to do.
    pub fn reloaded(&self, buffer: i32) -> bool {
        let Some(conversation) = self.shared.conversation(buffer) else { return false };
        conversation.page.reload();
        conversation.replies.forget();
        conversation.turn_tools.take();
        let more = conversation.page.parse_on();
        if !more {
            // Not now: an undone reload is reported while the text may not be changed.
            self.background.post_for(conversation.id, |this, conversation| this.recovery.recover(conversation));
        }
        if conversation.is_busy() {
            self.stop_for_foreign_change(&conversation);
        }
        more
    }

    /// Something else changed a buffer that is locked: where the next text belongs is no longer certain, so nothing more
    /// is written.
    fn stop_for_foreign_change(&self, conversation: &Conversation) {
        let session = &conversation.session;
        if session.is_replying() {
            // Not now: the text is just being changed.
            self.background.post_for(conversation.id, Self::mark_cut_off);
        }
        conversation.tasks.stop_all();
        session.account(&Effects::new(self, conversation), false);
        session.abandon();
        self.shared.host.perform(HostEffect::Lock { buffer: conversation.buffer, is_locked: false });
        self.shared.host.perform(HostEffect::Show { buffer: conversation.buffer, is_busy: false, is_other: false });
        // What is queued must not wait for a turn that nobody sees the end of.
        self.background
            .post_for(conversation.id, |this, conversation| this.shared.feed(conversation, [Input::Released]));
        // The text may have come from the file, which knows nothing of the end of a tool.
        self.background.post_for(conversation.id, |this, conversation| this.recovery.recover(conversation));
        self.shared.host.notify(
            Level::Warn,
            "the buffer was changed by something else while a reply or a tool was running; everything was stopped",
        );
    }

    /// Marks the reply at the end of the document as cut off, and makes room to go on.
    fn mark_cut_off(&self, conversation: &Conversation) {
        let edits = conversation.page.with_document(|document, text| chat::mark_cut_off(document.messages(), text));
        if conversation.is_busy() || edits.is_empty() {
            return;
        }
        conversation.page.undo_step();
        self.shared.write(conversation, &edits);
        let (edits, _) = conversation.page.with_document(|document, text| chat::open_prompt(document.messages(), text));
        self.shared.write(conversation, &edits);
    }

    /// Shows what is wrong with a conversation's text.
    pub(crate) fn diagnose(&self, conversation: &Conversation) {
        let diagnostics = conversation.text_diagnostics();
        conversation.is_diagnosed.set(!diagnostics.is_empty());
        self.shared.host.perform(HostEffect::Diagnose { buffer: conversation.buffer, diagnostics: &diagnostics });
    }

    /// Brings the diagnostics that are shown in a buffer up to date.
    pub fn diagnose_again(&self, buffer: i32) {
        if let Some(conversation) = self.shared.conversation(buffer).filter(|it| it.is_diagnosed.get()) {
            self.diagnose(&conversation);
        }
    }
}

/// The step of undo of what Flemma writes for the user. Neovim counts its own from 1.
const OWN_STEP: u64 = u64::MAX;
