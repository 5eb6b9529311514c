//! The page: the text of a conversation, what stands in it, who wrote which line, and the files that it names.
//!
//! A file that is opened is parsed in slices, so that the first screen is there at once. After that every change of the
//! text comes here, and the document, the provenance and the attached files follow it together.

mod readings;

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
};

use crate::references::attached_files::AttachedFiles;
use flemma_chat::{Author, Change, Document, Provenance, Reattribution, Slice, Snapshot, Text, TextCopy, Update};
use flemma_journal::CallKey;
use flemma_model::CallId;

/// How many lines of a file that was just opened are parsed at a time.
const SLICE: usize = 10_000;

/// How many are parsed before the first screen is drawn.
const FIRST_SLICE: usize = 1_000;

/// How many lines are read at a time before the first request of a conversation.
const REQUEST_SLICE: usize = 2_500;

/// The most references that are coloured on a screen. A single line may have any number of them.
const MOST_REFERENCES: usize = 1_000;

/// The text as the host has it.
struct Shown(Rc<dyn Text>);

impl Default for Shown {
    fn default() -> Self {
        Self(Rc::new(Vec::<String>::new()))
    }
}

/// What Flemma is writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Nothing.
    #[default]
    Nothing,
    /// What is its own.
    Its,
    /// What is in somebody's file. It is a stranger's, as what is read into the buffer is.
    Others,
    /// What the user has written elsewhere. It is theirs, as what they paste here is.
    Theirs,
}

/// The text of a conversation and everything that follows from it.
#[derive(Default)]
pub struct Page {
    text: Shown,
    document: RefCell<Document>,
    /// Who wrote which line.
    provenance: RefCell<Provenance>,
    files: RefCell<AttachedFiles>,
    /// The text as it was last written to the file.
    copy: RefCell<TextCopy>,
    /// Whether the whole text is parsed.
    pub(crate) is_complete: Cell<bool>,
    /// Whether a request waits for the rest of the messages to be read.
    pub(crate) is_reading: Cell<bool>,
    /// Whether the user has changed a tool's block since that was last looked at.
    pub(crate) is_touched: Cell<bool>,
    /// What Flemma is writing: changes that arrive meanwhile are its own.
    pub(crate) writing: Cell<Writing>,
    /// Whether the next edit belongs to the step of undo before it.
    joins: Cell<bool>,
    /// The lines whose folds the editor does not know yet.
    stale_folds: StaleFolds,
}

/// What may look different after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redraw {
    /// The lines that were changed or have another meaning now: a fence that was opened makes code of what stands below it.
    pub lines: Range<usize>,
    /// The first lines of the message and of the block above them or around them, where they may look different
    /// now: that of a block says how long it is.
    pub heads: Vec<usize>,
    /// Whether a tool's block has changed.
    pub has_tools: bool,
}

impl Redraw {
    fn extend(&mut self, lines: Range<usize>) {
        self.lines = self.lines.start.min(lines.start)..self.lines.end.max(lines.end);
    }
}

impl Page {
    /// A page of which nothing is parsed yet.
    pub(crate) fn new(text: Rc<dyn Text>) -> Self {
        Self { text: Shown(text), ..Self::default() }
    }

    /// The text as it is now.
    pub(crate) fn text(&self) -> &dyn Text {
        &*self.text.0
    }

    /// The lines as they are now, for another thread.
    pub(crate) fn copy(&self) -> Snapshot {
        self.copy.borrow_mut().take(self.text())
    }

    /// Lends the document, parsed to its end.
    pub fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        while self.parse_on() {}
        look(&mut self.document.borrow_mut(), self.text())
    }

    /// Lends the document as far as it is parsed.
    pub fn with_parsed<R>(&self, look: impl FnOnce(&Document, &dyn Text) -> R) -> R {
        look(&self.document.borrow(), self.text())
    }

    /// Parses the next lines of a file that was just opened; says whether there are more.
    pub fn parse_on(&self) -> bool {
        if self.is_complete.get() {
            return false;
        }
        let text = self.text();
        let mut document = self.document.borrow_mut();
        let known = document.line_count();
        let next = text.line_count().min(known + if known == 0 { FIRST_SLICE } else { SLICE });
        let change = Change { first: known, old_last: known, new_last: next };
        let slice = Slice::read(text, known..next);
        self.provenance.borrow_mut().follow(&mut document, change, Author::Stranger, &slice);
        self.files.borrow_mut().find(&document, known..next, &slice);
        // Asked after every slice, so that no slice has to look at all of the calls.
        let _ = document.calls().states();
        self.stale_folds.extend(known..next);
        let is_reading = next < text.line_count();
        self.provenance.borrow_mut().read(is_reading);
        self.is_complete.set(!is_reading);
        is_reading
    }

    /// Reads the next lines for an estimate; says whether there are more.
    pub(crate) fn estimate_on(&self) -> bool {
        self.parse_on() || self.with_document(|document, text| document.build_ahead(text, SLICE))
    }

    /// Reads some of the messages that no request has been made of; says whether there are more.
    pub(crate) fn read_on(&self) -> bool {
        let more = self.parse_on() || self.with_document(|document, text| document.build_ahead(text, REQUEST_SLICE));
        self.is_reading.set(more);
        more
    }

    /// The text changed, each of these ranges by itself; `author` changed it.
    pub(crate) fn changed(&self, changes: impl IntoIterator<Item = Change>, author: Author) -> Redraw {
        self.follow(changes, author, |document, provenance, change, text| {
            provenance.follow(document, change, author, text)
        })
    }

    /// The user has changed each of the lines in these runs by itself: see [`Provenance::follow_lines`].
    pub(crate) fn changed_lines(&self, runs: &[[usize; 2]], step: u64, author: Author) -> Redraw {
        let changes = runs.iter().map(|[first, last]| Change { first: *first, old_last: *last, new_last: *last });
        self.follow(changes, author, |document, provenance, change, text| {
            provenance.follow_lines(document, change.first..change.new_last, step, text)
        })
    }

    fn follow(
        &self,
        changes: impl IntoIterator<Item = Change>,
        author: Author,
        follow: impl Fn(&mut Document, &mut Provenance, Change, &dyn Text) -> Update,
    ) -> Redraw {
        let mut changes = changes.into_iter().peekable();
        let Some(next) = changes.peek() else { return Redraw::default() };
        let mut changed = Redraw { lines: next.first..next.first, ..Redraw::default() };
        let update = || {
            let mut document = self.document.borrow_mut();
            let mut files = self.files.borrow_mut();
            let text = self.text();
            for change in changes {
                if self.writing.get() != Writing::Nothing {
                    self.copy.borrow_mut().written(change, text);
                } else {
                    self.copy.borrow_mut().changed(change);
                }
                changed.extend(change.first..change.new_last);
                let known = document.line_count();
                if change.old_last > known {
                    self.provenance.borrow_mut().missed(change.first.max(known)..change.old_last);
                }
                // What lies behind the parsed part will be read when its turn comes.
                let change = if self.is_complete.get() || change.old_last <= known {
                    change
                } else if change.first < known {
                    Change { old_last: known, ..change }
                } else {
                    continue;
                };
                let mut provenance = self.provenance.borrow_mut();
                let update = follow(&mut document, &mut provenance, change, text);
                self.stale_folds.changed(change, &update);
                let lines = change.first..change.new_last;
                if author == Author::Flemma {
                    files.written(&document, lines.clone(), text);
                }
                files.follow(&document, &provenance, &lines, &update.lines, text);
                let doubt = provenance.take_suspected();
                files.undone(&document, &provenance, doubt, text);
                changed.extend(update.lines);
                changed.has_tools |= update.tools;
                changed.heads =
                    flemma_chat::heads_of(&document, changed.lines.start.saturating_sub(1), changed.has_tools);
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(update)) {
            // What was half updated is thrown away and parsed anew.
            self.document.take();
            self.provenance.take();
            self.copy.take();
            self.is_complete.set(false);
            resume_unwind(panic);
        }
        changed
    }

    /// Lines have changed that changed once more before they were looked at.
    pub fn missed(&self, lines: Range<usize>) {
        self.provenance.borrow_mut().missed(lines);
    }

    /// The changes since the user's last step were undo or redo.
    pub fn undone(&self) {
        let document = self.document.borrow();
        let mut provenance = self.provenance.borrow_mut();
        let doubt = provenance.undone(self.text());
        self.files.borrow_mut().undone(&document, &provenance, doubt, self.text());
    }

    /// Lines came from another file or from a command: they are as little the user's as those of a file that is opened.
    pub(crate) fn read_in(&self, lines: Range<usize>) {
        self.with_document(|document, text| {
            let mut provenance = self.provenance.borrow_mut();
            provenance.read_in(lines.clone(), text);
            let doubt = Reattribution { lost: vec![lines.clone()], touched: vec![lines] };
            self.files.borrow_mut().undone(document, &provenance, doubt, text);
        });
    }

    /// The text was read anew from its file.
    pub(crate) fn reload(&self) {
        self.document.take();
        self.provenance.take();
        self.files.borrow_mut().forget();
        self.copy.take();
        self.is_complete.set(false);
        self.stale_folds.forget();
    }

    /// Whether an edit of the user's waits to be settled.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.provenance.borrow().is_unsettled() || self.files.borrow().is_unsettled()
    }

    /// The user's edit is complete.
    pub fn settle(&self) {
        self.provenance.borrow_mut().settle();
        self.files.borrow_mut().settle();
    }

    /// Runs `write` with the knowledge that changes that arrive meanwhile are Flemma's, and what it writes.
    pub(crate) fn write<R>(&self, what: Writing, write: impl FnOnce() -> R) -> R {
        self.writing.set(what);
        let written = write();
        self.writing.set(Writing::Nothing);
        if what == Writing::Theirs {
            self.settle();
        }
        written
    }

    /// Whether the next edit belongs to the step of undo before it. The edits after it do.
    pub(crate) fn joins(&self) -> bool {
        self.joins.replace(true)
    }

    /// The next edit begins a step of undo.
    pub(crate) fn undo_step(&self) {
        self.joins.set(false);
    }

    /// Whether the user wrote all of these lines in this session.
    pub(crate) fn is_by_user(&self, lines: Range<usize>) -> bool {
        self.provenance.borrow().is_by_user(lines)
    }

    /// The user takes these lines as their own.
    pub(crate) fn adopt(&self, lines: Range<usize>) {
        self.with_document(|_, text| self.provenance.borrow_mut().adopt(lines, text));
    }

    /// The status that was just written into a call's block was decided.
    pub(crate) fn authorise(&self, call: &CallId) {
        self.with_document(|document, text| {
            if let Some(line) = document.calls().status_line(call) {
                self.provenance.borrow_mut().authorise(line, text);
            }
        });
    }

    /// The files of the conversation.
    pub(crate) fn files(&self) -> std::cell::RefMut<'_, AttachedFiles> {
        self.files.borrow_mut()
    }

    /// The lines whose folds and cards may have changed since this was last asked; `None` if none have.
    pub fn take_stale_folds(&self) -> Option<Range<usize>> {
        self.stale_folds.take()
    }
}

/// How many calls with this key have a result in a document.
pub(crate) fn answered(document: &Document, text: &dyn Text, key: &CallKey) -> usize {
    let inputs = document.calls().answered_inputs(&key.id, &key.tool, text);
    inputs.iter().filter(|input| input.digest() == key.input).count()
}

/// The lines whose folds and cards may have changed since the editor was last told of them.
#[derive(Debug, Default)]
struct StaleFolds(Cell<Option<(usize, usize)>>);

impl StaleFolds {
    /// The text has changed. Neovim moves folds by itself where lines are only replaced one by one.
    fn changed(&self, change: Change, update: &Update) {
        let moved = |line: usize| {
            if line < change.old_last { line.min(change.new_last) } else { line - change.old_last + change.new_last }
        };
        let before = self.0.get().map(|(first, last)| (moved(first).min(first), moved(last)));
        self.0.set(before);
        let is_one = change.old_last == change.first + 1 && change.new_last == change.old_last;
        if !is_one || update.tools || update.lines.len() > 1 {
            self.extend(change.first.min(update.lines.start)..change.new_last.max(update.lines.end));
        }
    }

    /// These lines are looked at as well.
    fn extend(&self, lines: Range<usize>) {
        let (first, last) = self.0.get().unwrap_or((lines.start, lines.end));
        self.0.set(Some((first.min(lines.start), last.max(lines.end))));
    }

    /// The lines, with one more at each end.
    fn take(&self) -> Option<Range<usize>> {
        let (first, last) = self.0.take()?;
        Some(first.saturating_sub(1)..last + 1)
    }

    /// The whole text was replaced.
    fn forget(&self) {
        self.0.take();
    }
}
