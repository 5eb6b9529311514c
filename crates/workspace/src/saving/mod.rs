//! Writes a conversation's file, away from the main thread.

pub(crate) mod file_layout;
pub(crate) mod file_on_disk;
pub(crate) mod fork;

use std::path::{Path, PathBuf};

use crate::{
    Conversation, FileLayout, HostEffect,
    components::Saving,
    ports::{Saved, folder_of},
    saving::file_on_disk::FileText,
};
use flemma_chat::Snapshot;
use flemma_model::UserError;
use flemma_runtime::{ExternalFile, external_paths};

impl Saving {
    /// The editor has read or written a buffer's file, which has its text now.
    pub fn on_disk(&self, buffer: i32, path: &Path) {
        if let Some(conversation) = self.shared.conversation(buffer) {
            conversation.file.note(path);
            self.has_outbox(&conversation);
        }
    }

    /// The file has all of the text, so also what was queued and is in there.
    fn has_outbox(&self, conversation: &Conversation) {
        let posted = conversation.outbox.messages.borrow().posted();
        self.queue.outbox_was_written(conversation, &posted);
    }

    /// A buffer's file is as the editor knows it, unless it is being written: what is written next replaces this one.
    pub fn file_is_known(&self, buffer: i32, path: &Path) {
        let is_in_flight = self.flights.borrow().contains_key(&buffer);
        if let Some(conversation) = self.shared.conversation(buffer).filter(|_| !is_in_flight) {
            conversation.file.note(path);
        }
    }

    /// Begins to write a buffer's text to its file; says whether it could. [`HostEffect::Saved`] tells of the end, with
    /// `tick`.
    pub fn save(&self, buffer: i32, path: PathBuf, layout: FileLayout, tick: i64) -> bool {
        let Some(conversation) = self.shared.conversation(buffer) else { return false };
        let file = conversation.file.clone();
        let fence = self.ownership.fence(&conversation);
        let (number, lines, written) = (file.next(), conversation.page.copy(), file.clone());
        // Nobody else holds the file before it is written, even if the buffer is gone.
        let held = conversation.holding.held();
        let write = move || {
            let problem = written.write(&FileText { number, path, lines, layout, is_forced: false, fence }).err();
            drop(held);
            (problem, written.is_current())
        };
        let (id, posted) = (conversation.id, conversation.outbox.messages.borrow().posted());
        let then = move |this: &Self, (problem, is_current): (Option<UserError>, bool)| {
            if problem.is_none() {
                this.shared.with_conversation(id, |it| this.queue.outbox_was_written(it, &posted));
            }
            let saved = Saved {
                tick,
                problem: problem.map(|problem| this.to_user(buffer, problem)),
                is_current,
                is_replying: this.shared.conversation(buffer).is_some_and(|it| it.session.is_replying()),
            };
            this.flights.borrow_mut().remove(&buffer);
            this.shared.host.perform(HostEffect::Saved { buffer, saved });
        };
        self.flights.borrow_mut().insert(buffer, file);
        self.background.run(write, then);
        true
    }

    /// A problem as the user of a buffer is told of it: only an editor has keys and commands.
    fn to_user(&self, buffer: i32, problem: UserError) -> UserError {
        let has_editor =
            self.shared.conversation(buffer).is_none_or(|conversation| self.shared.has_editor(&conversation));
        if has_editor { problem } else { problem.without_advice() }
    }

    /// Writes a buffer's text to its file, and waits for it, but not for ever.
    ///
    /// # Errors
    /// What went wrong, as a sentence for the user.
    pub fn save_now(&self, buffer: i32, path: PathBuf, layout: FileLayout, is_forced: bool) -> Result<(), UserError> {
        // The conversation may be gone, and its file still be on its way.
        let conversation = self.shared.conversation(buffer);
        let in_flight = || self.flights.borrow().get(&buffer).cloned();
        let Some(file) = conversation.as_ref().map(|it| it.file.clone()).or_else(in_flight) else { return Ok(()) };
        let lines = Snapshot::of(&*self.shared.host.text(buffer));
        let fence = conversation.as_ref().and_then(|conversation| self.ownership.fence(conversation));
        let text = FileText { number: file.next(), path, lines, layout, is_forced, fence };
        file.write_now(text).map_err(|problem| self.to_user(buffer, problem))?;
        if let Some(conversation) = conversation {
            self.has_outbox(&conversation);
        }
        Ok(())
    }

    /// A buffer was written to the file `path`: what is trusted in it stays so there.
    pub fn saved(&self, buffer: i32, path: String) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        self.trust.keep_frontmatter(&conversation, path.clone());
        // `path` may be a copy's.
        let file = self.shared.place(&conversation).file;
        self.journaling.read_journal(&conversation, &file);
        self.ownership.hold(&conversation, &file);
        self.keep_files(&conversation, path);
    }

    /// The files that the user has put into a conversation are theirs to show, in later sessions too.
    fn keep_files(&self, conversation: &Conversation, path: String) {
        if path.is_empty() || !conversation.page.files().has_own() {
            return;
        }
        let named = conversation.page.named_files();
        let own = conversation.page.files().own(&named);
        if own.is_empty() {
            return;
        }
        let folder = self.shared.project_of(Path::new(&path)).or_else(|| folder_of(&path));
        let folder = folder.unwrap_or_else(|| self.shared.place(conversation).cwd);
        let then = move |this: &Self, outside: Vec<ExternalFile>| {
            outside.into_iter().for_each(|file| this.trust.keep_trusted_file(&path, file.real));
        };
        self.background.run(move || external_paths(own, &folder), then);
    }
}
