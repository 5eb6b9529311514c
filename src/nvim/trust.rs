//! Whether the user trusts what a file's frontmatter says.
//!
//! What they typed in this editor is theirs; what was there when the file was opened is theirs if they said so before
//! (see [`crate::runtime::trust`]), and else they are asked when it first matters: the key that they pressed waits for the
//! answer. Frontmatter that came with a file stays a stranger's until they trust it, whatever is changed in it; and so
//! does code that stood anywhere else in the file and became frontmatter by an edit around it.

use std::{ops::Range, rc::Rc};

use super::{
    conversation::Conversation,
    editor::Editor,
    frontmatter::{self, Source},
};
use crate::{
    agent::{Input, Level},
    chat::Text,
    runtime::{
        Notice, Report,
        trust::{self, Trusted},
    },
    tools::truncate,
};

/// What the user says when they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is trusted from now on.
    Trust,
    /// Not now.
    Later,
}

/// How many lines of a file are remembered, and how many letters of each. What stands further down is not moved to the
/// top by a slip of the finger.
const REMEMBERED: usize = 2_000;
const LETTERS: usize = 300;

/// A line with fewer letters says nothing: it may well be typed again.
const TELLING: usize = 6;

/// What stood in a file when it was opened or read anew: nobody typed it here.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Whether it began with frontmatter. Then what stands there now is asked about until it is trusted, however it was
    /// changed since.
    block: bool,
    lines: Vec<String>,
}

impl Found {
    /// Remembers how a file begins.
    pub(super) fn remember(text: &dyn Text, block: bool) -> Self {
        let mut found = Self { block, lines: Vec::new() };
        found.add(text, 0..text.line_count());
        found
    }

    /// Remembers lines that came from another file.
    pub(super) fn add(&mut self, text: &dyn Text, lines: Range<usize>) {
        let end = lines.end.min(text.line_count()).min(lines.start.saturating_add(REMEMBERED));
        text.read(lines.start..end, &mut |line: &str| {
            let line = truncate::prefix(line.trim(), LETTERS);
            if line.len() >= TELLING {
                self.lines.push(line.to_owned());
            }
        });
    }

    /// Whether this code, or a part of it, was there.
    fn has(&self, code: &str) -> bool {
        let code = code.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut code = code.peekable();
        (self.block && code.peek().is_some())
            || code.any(|line| {
                self.lines
                    .iter()
                    .any(|found| line.contains(found.as_str()) || (line.len() >= TELLING && found.contains(line)))
            })
    }
}

impl Conversation {
    /// Whether the user trusts this frontmatter.
    pub(super) fn trusts(&self, editor: &Editor, source: &Source) -> bool {
        if !self.found.borrow().has(&source.code) {
            return true;
        }
        let path = self.path(editor);
        let trusted = editor.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains(&path, &source.code));
        if trusted {
            // From here on it is the user's to change.
            self.found.take();
        }
        trusted
    }

    /// Lines were read in from another file: they are as little the user's as those of a file that is opened.
    pub(super) fn read_in(&self, lines: Range<usize>) {
        let calls = self.calls_in(lines.clone());
        self.inherited.borrow_mut().extend(calls);
        self.with_document(|document, text| {
            let mut found = self.found.borrow_mut();
            found.block |= lines.start == 0 && document.frontmatter().is_some();
            found.add(text, lines);
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
            self.found.take();
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
