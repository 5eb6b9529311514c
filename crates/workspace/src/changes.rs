//! Changes of a conversation's text, and what follows from them.

use std::ops::Range;

use super::{Conversation, HostEffect, Workspace, effects::Effects, page::Changed};
use flemma_agent::{Level, Shell};
use flemma_chat as chat;
use flemma_chat::{Author, Change};

/// The step of undo of what Flemma writes for the user. Neovim counts its own from 1.
const OWN_STEP: u64 = u64::MAX;

/// What may look different after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redraw {
    /// The lines that were changed or have another meaning now: a fence that was opened makes code of what stands below it.
    pub lines: Range<usize>,
    /// The first lines of the message and of the block above them or around them, where they may look different
    /// now: that of a block says how long it is.
    pub heads: Vec<usize>,
}

impl Workspace {
    /// The text of a buffer changed: the lines `first..old_last` are now the lines `first..new_last`. `author` changed it,
    /// unless Flemma did.
    ///
    /// Gives what may look different now. `None` without a conversation.
    pub fn changed(&self, buffer: i32, change: Change, author: Author) -> Option<Redraw> {
        let conversation = self.conversation(buffer)?;
        let author = self.author(&conversation, author);
        conversation.replies().follow(change);
        let changed = conversation.page().changed([change], author);
        Some(self.after_change(&conversation, changed))
    }

    /// The user has changed each of the lines in these runs by itself: see [`flemma_chat::Provenance::follow_lines`].
    /// Gives what [`Workspace::changed`] does.
    pub fn changed_lines(&self, buffer: i32, runs: &[[usize; 2]], step: u64) -> Option<Redraw> {
        let conversation = self.conversation(buffer)?;
        let author = self.author(&conversation, Author::Command { step });
        let changed = conversation.page().changed_lines(runs, step, author);
        Some(self.after_change(&conversation, changed))
    }

    /// Who has really changed the text.
    fn author(&self, conversation: &Conversation, author: Author) -> Author {
        match (conversation.page().is_writing(), conversation.session().is_replying()) {
            (true, _) if conversation.page().is_writing_own() => Author::Command { step: OWN_STEP },
            (true, true) => Author::Model,
            (true, false) => Author::Flemma,
            (false, _) => author,
        }
    }

    fn after_change(&self, conversation: &Conversation, Changed { lines, heads, tools }: Changed) -> Redraw {
        let (page, is_busy) = (conversation.page(), conversation.is_busy());
        if tools {
            self.host().perform(HostEffect::Refresh { buffer: conversation.buffer() });
            page.touch(!page.is_writing() && page.is_complete() && !is_busy);
        }
        if page.is_unsettled() {
            self.host().perform(HostEffect::Unsettled { buffer: conversation.buffer() });
        }
        if is_busy && !page.is_writing() {
            self.stop_for_foreign_change(conversation);
        }
        Redraw { lines, heads }
    }

    /// The user's edit of a buffer is complete.
    pub fn noticed(&self, buffer: i32) {
        let Some(conversation) = self.conversation(buffer) else { return };
        conversation.page().settle();
        let is_here = conversation.held_elsewhere().is_none();
        if conversation.page().take_touched() && !conversation.is_busy() && is_here {
            conversation.session().notice(&Effects::new(self, &conversation));
            self.watch_deadlines(&conversation, true);
        }
        self.look_for_proposals(&conversation);
    }

    /// A buffer was read anew from its file; says whether [`Workspace::parse_on`] has more to do.
    pub fn reloaded(&self, buffer: i32) -> bool {
        let Some(conversation) = self.conversation(buffer) else { return false };
        conversation.page().reload();
        conversation.replies().forget();
        conversation.turn_tools().take();
        let more = self.parse_on(buffer);
        if conversation.is_busy() {
            self.stop_for_foreign_change(&conversation);
        }
        more
    }

    /// Something else changed a buffer that is locked: where the next text belongs is no longer certain, so nothing more
    /// is written.
    fn stop_for_foreign_change(&self, conversation: &Conversation) {
        let session = conversation.session();
        if session.is_replying() {
            // Not now: the text is just being changed.
            self.post_for(conversation.id(), Self::mark_cut_off);
        }
        conversation.tasks().stop_all();
        session.account(&Effects::new(self, conversation), false);
        session.abandon();
        self.host().perform(HostEffect::Lock { buffer: conversation.buffer(), is_locked: false });
        self.host().perform(HostEffect::Show { buffer: conversation.buffer(), is_busy: false, is_other: false });
        self.put_outbox_down_later(conversation);
        // The text may have come from the file, which knows nothing of the end of a tool.
        self.post_for(conversation.id(), Self::recover);
        self.host().notify(
            Level::Warn,
            "the buffer was changed by something else while a reply or a tool was running; everything was stopped",
        );
    }

    /// Marks the reply at the end of the document as cut off, and makes room to go on.
    fn mark_cut_off(&self, conversation: &Conversation) {
        let edits = conversation.page().cut_off();
        if conversation.is_busy() || edits.is_empty() {
            return;
        }
        let effects = Effects::new(self, conversation);
        effects.undo_step();
        effects.apply(&edits);
        let (edits, _) = effects.with_document(|document, text| chat::open_prompt(document.messages(), text));
        effects.apply(&edits);
    }

    /// Shows what is wrong with a conversation's text.
    pub(super) fn diagnose(&self, conversation: &Conversation) {
        let diagnostics = conversation.text_diagnostics();
        conversation.set_diagnosed(!diagnostics.is_empty());
        self.host().perform(HostEffect::Diagnose { buffer: conversation.buffer(), diagnostics: &diagnostics });
    }

    /// Brings the diagnostics that are shown in a buffer up to date.
    pub fn diagnose_again(&self, buffer: i32) {
        if let Some(conversation) = self.conversation(buffer).filter(|conversation| conversation.is_diagnosed()) {
            self.diagnose(&conversation);
        }
    }
}
