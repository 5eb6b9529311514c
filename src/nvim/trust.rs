//! Whether the user trusts what a file's frontmatter says.
//!
//! What they wrote in this session is theirs ([`crate::chat::Provenance`]). Everything else is theirs if they said so
//! before (see [`crate::runtime::trust`]). Otherwise they are asked when it first matters, and the key that they pressed
//! waits for the answer.

use std::{ops::Range, rc::Rc};

use super::{
    conversation::Conversation,
    editor::Editor,
    frontmatter::{self, Source},
};
use crate::{
    agent::{Input, Level},
    chat::Reattribution,
    runtime::{
        Notice, Report,
        trust::{self, Trusted},
    },
};

/// What the user says when they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is trusted from now on.
    Trust,
    /// Not now.
    Later,
}

impl Conversation {
    /// Whether the user trusts this frontmatter: they wrote all of it in this session, or they said so before.
    pub(super) fn trusts(&self, editor: &Editor, source: &Source) -> bool {
        if self.provenance.borrow().is_by_user(source.lines()) {
            return true;
        }
        let path = self.path(editor);
        let trusted = editor.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains(&path, &source.code));
        if trusted {
            // From here on it is the user's to change.
            self.adopt(source);
        }
        trusted
    }

    /// The user takes the frontmatter as their own.
    pub(super) fn adopt(&self, source: &Source) {
        self.with_document(|_, text| self.provenance.borrow_mut().adopt(source.lines(), text));
    }

    /// Lines came from another file or from a command: they are as little the user's as those of a file that is opened.
    pub(super) fn read_in(&self, lines: Range<usize>) {
        self.with_document(|document, text| {
            let mut provenance = self.provenance.borrow_mut();
            provenance.read_in(lines.clone(), text);
            let doubt = Reattribution { lost: vec![lines.clone()], touched: vec![lines] };
            self.files.undone(document, &provenance, doubt, text);
        });
        self.effective.take();
    }

    fn path(&self, editor: &Editor) -> String {
        editor.host.place(self.buffer).0
    }

    /// The user wants something of this conversation. If its file has to be trusted for that, they are asked first, and
    /// this goes on with their answer.
    pub(super) fn want(self: &Rc<Self>, editor: &Editor, input: Input) {
        let Some(source) = frontmatter::source(self) else { return self.want_with_files(editor, input) };
        if !self.trusts(editor, &source) && editor.trusted.borrow().is_none() {
            // What was trusted is still being read, or is to be read now.
            editor.read_trusted();
            *self.wanted.borrow_mut() = Some(input);
            return;
        }
        let needs_trust = frontmatter::effective(editor, self).fault.as_ref().is_some_and(|fault| fault.untrusted);
        if needs_trust && !self.session.is_busy() {
            *self.wanted.borrow_mut() = Some(input);
            editor.host.ask_trust(self.buffer, &source.language);
        } else {
            self.want_with_files(editor, input);
        }
    }

    /// What was trusted has been read.
    pub(super) fn trust_was_read(self: &Rc<Self>, editor: &Editor) {
        let wanted = self.wanted.take();
        if let Some(input) = wanted {
            self.want(editor, input);
        }
    }

    /// The user has answered.
    pub(super) fn answer_trust(self: &Rc<Self>, editor: &Editor, answer: Answer) {
        let wanted = self.wanted.take();
        if answer == Answer::Trust {
            if let Some(source) = frontmatter::source(self) {
                self.adopt(&source);
            }
            self.keep_trust(editor, self.path(editor));
            if let Some(input) = wanted {
                self.want(editor, input);
            }
        }
    }

    /// What is trusted here stays so, for the file of this name: it was saved there, or the user just said so.
    pub(super) fn keep_trust(&self, editor: &Editor, path: String) {
        let Some(source) = frontmatter::source(self) else { return };
        if path.is_empty() || !self.trusts(editor, &source) {
            return;
        }
        editor.keep_trusted(path, source.code);
    }
}

impl Editor {
    /// Reads what was trusted, away from the main thread, once.
    pub(super) fn read_trusted(&self) {
        if self.trusted.borrow().is_some() || self.reading_trusted.replace(true) {
            return;
        }
        let (store, queue) = (self.trust_store.clone(), std::sync::Arc::clone(self.worker.queue()));
        let read = move || {
            // A store that cannot be read trusts nothing.
            let trusted = Trusted::read(&store).unwrap_or_default();
            queue.push(Notice { conversation: crate::runtime::ConversationId::NONE, report: Report::Trust(trusted) });
        };
        match self.worker.handle() {
            Ok(threads) => drop(threads.spawn_blocking(read)),
            Err(_) => *self.trusted.borrow_mut() = Some(Trusted::default()),
        }
    }

    /// What was trusted has been read.
    pub(super) fn trust_was_read(&self, read: Trusted) {
        self.trusted.borrow_mut().get_or_insert(read);
        let waiting: Vec<_> = self.all_conversations();
        for conversation in waiting {
            conversation.trust_was_read(self);
        }
    }

    /// Trusts a content from now on, in later sessions too.
    fn keep_trusted(&self, path: String, code: String) {
        let known = {
            let mut trusted = self.trusted.borrow_mut();
            // Not read yet: then nobody knows whether it is news, and one line more does no harm.
            trusted.as_mut().is_some_and(|trusted| !trusted.insert(&path, &code))
        };
        if known {
            return;
        }
        let (store, log) = (self.trust_store.clone(), self.log_handle());
        let keep = move || {
            if let Err(error) = trust::append(&store, &path, &code) {
                log.warn(&format!("{} could not be written: {error}", store.display()));
            }
        };
        match self.worker.handle() {
            Ok(threads) => drop(threads.spawn_blocking(keep)),
            Err(error) => self.log(Level::Warn, &format!("what you trust could not be kept: {error}")),
        }
    }
}
