//! The page: the text of a conversation, what stands in it, who wrote which line, and the files that it names.
//!
//! A file that is opened is parsed in slices, so that the first screen is there at once. After that every change of the
//! text comes here, and the document, the provenance and the attached files follow it together.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::{options::effective::Source, references::attached_files::AttachedFiles, views::stale_folds::StaleFolds};
use flemma_chat as chat;
use flemma_chat::{
    Author, BareName, Change, Completable, Decoration, Diagnostic, Document, FoldGroup, Hidden, NamedFile, Object,
    OpenCall, Provenance, Reattribution, Region, Selection, Slice, Snapshot, Speaker, Text, TextCopy, Uncaptured,
    Update,
};
use flemma_journal::CallKey;
use flemma_model::CallId;
use flemma_runtime::SkippedFile;

/// How many lines of a file that was just opened are parsed at a time.
const SLICE: usize = 10_000;

/// How many are parsed before the first screen is drawn.
const FIRST_SLICE: usize = 1_000;

/// How many lines are read at a time before the first request of a conversation.
const REQUEST_SLICE: usize = 2_500;

/// The most references that are coloured on a screen. A single line may have any number of them.
const MOST_REFERENCES: usize = 1_000;

/// The text of a conversation and everything that follows from it.
pub struct Page {
    text: Rc<dyn Text>,
    document: RefCell<Document>,
    /// Who wrote which line.
    provenance: RefCell<Provenance>,
    files: RefCell<AttachedFiles>,
    /// The text as it was last written to the file.
    copy: RefCell<TextCopy>,
    /// Whether the whole text is parsed.
    is_complete: Cell<bool>,
    /// Whether a request waits for the rest of the messages to be read.
    is_reading: Cell<bool>,
    /// Whether the user has changed a tool's block since that was last looked at.
    is_touched: Cell<bool>,
    /// Whether Flemma is writing: changes that arrive meanwhile are its own.
    is_writing: Cell<bool>,
    /// Whether what it writes is what the user has written elsewhere.
    is_writing_own: Cell<bool>,
    /// Whether the next edit belongs to the step of undo before it.
    joins: Cell<bool>,
    /// The lines whose folds the editor does not know yet.
    stale_folds: StaleFolds,
}

/// What a change has brought about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The lines that may look different now, apart from their surroundings in Markdown or code.
    pub(crate) lines: Range<usize>,
    /// The first lines of the message and of the block above them or around them, where they may look different now.
    pub(crate) heads: Vec<usize>,
    /// Whether a tool's block has changed.
    pub(crate) tools: bool,
}

impl Changed {
    /// Nothing yet, at this line.
    fn at(line: usize) -> Self {
        Self { lines: line..line, ..Self::default() }
    }

    fn extend(&mut self, lines: Range<usize>) {
        self.lines = self.lines.start.min(lines.start)..self.lines.end.max(lines.end);
    }
}

impl Page {
    /// A page of which nothing is parsed yet.
    pub(crate) fn new(text: Rc<dyn Text>) -> Self {
        Self {
            text,
            document: RefCell::default(),
            provenance: RefCell::default(),
            files: RefCell::default(),
            copy: RefCell::default(),
            is_complete: Cell::new(false),
            is_reading: Cell::new(false),
            is_touched: Cell::new(false),
            is_writing: Cell::new(false),
            is_writing_own: Cell::new(false),
            joins: Cell::new(false),
            stale_folds: StaleFolds::default(),
        }
    }

    /// The text as it is now.
    pub(crate) fn text(&self) -> &dyn Text {
        &*self.text
    }

    /// The lines as they are now, for another thread.
    pub(crate) fn copy(&self) -> Snapshot {
        self.copy.borrow_mut().take(self.text())
    }

    /// Whether the whole text is parsed.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.get()
    }

    /// Whether a request waits for the rest of the messages to be read.
    pub(crate) fn is_reading(&self) -> bool {
        self.is_reading.get()
    }

    /// Whether Flemma is writing.
    pub(crate) fn is_writing(&self) -> bool {
        self.is_writing.get()
    }

    /// Lends the document, parsed to its end.
    pub(crate) fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        while self.parse_on() {}
        look(&mut self.document.borrow_mut(), self.text())
    }

    /// Lends the document as far as it is parsed.
    pub(crate) fn with_parsed<R>(&self, look: impl FnOnce(&Document, &dyn Text) -> R) -> R {
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
    pub(crate) fn changed(&self, changes: impl IntoIterator<Item = Change>, author: Author) -> Changed {
        self.follow(changes, author, |document, provenance, change, text| {
            provenance.follow(document, change, author, text)
        })
    }

    /// The user has changed each of the lines in these runs by itself: see [`Provenance::follow_lines`].
    pub(crate) fn changed_lines(&self, runs: &[[usize; 2]], step: u64, author: Author) -> Changed {
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
    ) -> Changed {
        let mut changes = changes.into_iter().peekable();
        let Some(next) = changes.peek() else { return Changed::default() };
        let mut changed = Changed::at(next.first);
        let update = || {
            let mut document = self.document.borrow_mut();
            let mut files = self.files.borrow_mut();
            let text = self.text();
            for change in changes {
                if self.is_writing.get() {
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
                changed.tools |= update.tools;
                changed.heads = flemma_chat::heads_of(&document, changed.lines.start.saturating_sub(1), changed.tools);
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

    /// Sets whether the user has changed a tool's block.
    pub(crate) fn touch(&self, is_touched: bool) {
        self.is_touched.set(is_touched);
    }

    /// Whether the user has changed a tool's block since this was last asked.
    pub(crate) fn take_touched(&self) -> bool {
        self.is_touched.take()
    }

    /// Runs `write` with the knowledge that changes that arrive meanwhile are Flemma's own.
    pub(crate) fn writing(&self, write: impl FnOnce()) {
        self.is_writing.set(true);
        write();
        self.is_writing.set(false);
    }

    /// The same for what the user has written elsewhere: it is theirs, as what they paste here is.
    pub(crate) fn writing_own(&self, write: impl FnOnce()) {
        self.is_writing_own.set(true);
        self.writing(write);
        self.is_writing_own.set(false);
        self.settle();
    }

    /// Whether Flemma is writing what the user has written elsewhere.
    pub(crate) fn is_writing_own(&self) -> bool {
        self.is_writing_own.get()
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

    /// Whether the status in a call's block was written in this session, by the user or after a decision.
    pub(crate) fn is_authorised(&self, call: &OpenCall) -> bool {
        call.placeholder.as_ref().is_some_and(|placeholder| self.provenance.borrow().is_authorised(placeholder.fence))
    }

    /// The status that was just written into a call's block was decided.
    pub(crate) fn authorise(&self, call: &CallId) {
        self.with_document(|document, text| {
            if let Some(line) = document.calls().status_line(call) {
                self.provenance.borrow_mut().authorise(line, text);
            }
        });
    }

    /// The frontmatter, if there is any that is complete.
    pub(crate) fn frontmatter(&self) -> Option<Source> {
        self.with_document(|document, text| Source::of(document, text))
    }

    /// The files of the conversation.
    pub(crate) fn files(&self) -> std::cell::RefMut<'_, AttachedFiles> {
        self.files.borrow_mut()
    }

    /// Every file that the text names, in order.
    pub(crate) fn named_files(&self) -> Vec<NamedFile> {
        self.with_document(|document, text| flemma_chat::files(document, 0..text.line_count(), text))
    }

    /// The references in what the user wrote last that are not captured yet.
    pub(crate) fn uncaptured(&self) -> Vec<Uncaptured> {
        self.with_document(|document, text| flemma_chat::uncaptured(document, text))
    }

    /// The files that the text names and that may not be the user's to show. Relative paths start in `folder`.
    pub(crate) fn unvetted(&self, folder: &Path) -> Vec<PathBuf> {
        self.files.borrow_mut().start_in(folder);
        if self.files.borrow().is_vetted() {
            return Vec::new();
        }
        let named = self.named_files();
        self.files.borrow_mut().unvetted(&named)
    }

    /// Keeps what the last request left out; says whether that has changed.
    pub(crate) fn leave_out(&self, left_out: Vec<SkippedFile>) -> bool {
        self.files.borrow_mut().leave_out(left_out)
    }

    /// What is wrong with the text, and with the files that it names.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.with_document(|document, text| {
            let mut found = flemma_chat::diagnostics(document, text);
            found.extend(flemma_chat::unsent(document.messages(), text));
            found.extend(self.files.borrow().diagnostics(document, text));
            found.sort_by_key(|diagnostic| diagnostic.line);
            found
        })
    }

    /// The open calls whose blocks these lines touch, in their order.
    pub(crate) fn calls_in(&self, lines: Range<usize>) -> Vec<CallId> {
        self.with_document(|document, text| {
            let lines = lines.start..lines.end.min(text.line_count());
            let touched: HashSet<CallId> =
                flemma_chat::cards(document, lines).into_iter().map(|card| card.id).collect();
            let open = document.calls().states().into_iter();
            open.filter(|(id, _)| touched.contains(id)).map(|(id, _)| id.clone()).collect()
        })
    }

    /// The call whose use or result this line belongs to.
    pub fn call_at(&self, line: usize) -> Option<CallId> {
        self.with_document(|document, _| document.calls().at(line).cloned())
    }

    /// The ids of all calls, with or without a result.
    pub(crate) fn call_ids(&self) -> HashSet<CallId> {
        self.with_document(|document, _| document.calls().uses().map(|call| call.id.clone()).collect())
    }

    /// The calls whose results end the conversation: see [`flemma_chat::Document::calls_at_end`].
    pub(crate) fn calls_at_end(&self) -> Vec<CallId> {
        self.with_document(|document, text| document.calls().at_end(text))
    }

    /// How many calls with this key have a result here.
    pub(crate) fn answered(&self, key: &CallKey) -> usize {
        self.with_document(|document, text| answered(document, text, key))
    }

    /// The open calls, in their order.
    pub(crate) fn open_calls(&self) -> Vec<OpenCall> {
        self.with_document(|document, text| document.calls().open(text))
    }

    /// The last open call with this id.
    pub(crate) fn open_call(&self, id: &CallId) -> Option<OpenCall> {
        self.with_document(|document, text| document.calls().find(id, text))
    }

    /// The ids of the open calls, in their order.
    pub(crate) fn open_ids(&self) -> Vec<CallId> {
        self.with_document(|document, _| document.calls().states().into_iter().map(|(id, _)| id.clone()).collect())
    }

    /// The line of the next or the previous message's marker.
    pub fn message_from(&self, line: usize, is_forward: bool) -> Option<usize> {
        self.with_document(|document, _| {
            let mut starts = document.messages().iter().map(|message| message.start);
            if is_forward {
                starts.find(|start| *start > line)
            } else {
                starts.take_while(|start| *start < line).last()
            }
        })
    }

    /// The line of the last marker of a speaker.
    pub(crate) fn last_marker(&self, role: Speaker) -> Option<usize> {
        let document = self.document.borrow();
        document.messages().iter().rev().find(|message| message.role == role).map(|message| message.start)
    }

    /// The references in these lines, as far as they are parsed: the line of each, and its range in the line in bytes.
    pub fn references(&self, lines: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let document = self.document.borrow();
        let known = document.line_count();
        let lines = lines.start.min(known)..lines.end.min(known);
        let mut found = flemma_chat::editor_references(&document, &lines, self.text());
        let files = flemma_chat::files(&document, lines, self.text());
        found.extend(files.into_iter().filter_map(|file| Some((file.line, file.columns?))));
        found.truncate(MOST_REFERENCES);
        found
    }

    /// The words in these lines that may be files which the user wants to attach, as far as they are parsed.
    pub(crate) fn bare_names(&self, lines: Range<usize>) -> Vec<BareName> {
        let document = self.document.borrow();
        let known = document.line_count();
        flemma_chat::bare_names(&document, &(lines.start.min(known)..lines.end.min(known)), self.text())
    }

    /// What can be completed at a place, as far as the text is parsed.
    pub(crate) fn completable(&self, line: usize, column: usize) -> Option<Completable> {
        Completable::at(&self.document.borrow(), line, column, self.text())
    }

    /// The colours of these lines, as far as they are parsed.
    pub fn decorations(&self, lines: Range<usize>) -> Vec<Decoration> {
        flemma_chat::decorations(&self.document.borrow(), lines)
    }

    /// What of these lines is Markdown and what is code, as far as they are parsed.
    pub fn regions(&self, lines: Range<usize>) -> Vec<Region> {
        flemma_chat::regions(&self.document.borrow(), lines)
    }

    /// The number of lines that are parsed.
    pub fn parsed(&self) -> usize {
        self.document.borrow().line_count()
    }

    /// The folds of the messages in these lines, as far as they are parsed.
    pub(crate) fn folds(&self, lines: Range<usize>, is_busy: bool) -> Vec<FoldGroup> {
        flemma_chat::folds(&self.document.borrow(), lines, self.text(), is_busy || !self.is_complete.get())
    }

    /// The lines whose folds and cards may have changed since this was last asked; `None` if none have.
    pub fn take_stale_folds(&self) -> Option<Range<usize>> {
        self.stale_folds.take()
    }

    /// The first line of the block in place of an open call's result.
    pub(crate) fn result_line(&self, id: &CallId) -> Option<usize> {
        self.open_call(id)?.placeholder.map(|placeholder| placeholder.fence)
    }

    /// The lines of messages: see [`flemma_chat::message_object`].
    #[must_use]
    pub fn message_object(&self, selection: &Selection) -> Option<Object> {
        self.with_document(|document, text| flemma_chat::message_object(document, selection, text))
    }

    /// The lines of a tool card: see [`flemma_chat::card_object`].
    #[must_use]
    pub fn card_object(&self, selection: &Selection) -> Option<Object> {
        self.with_document(|document, text| flemma_chat::card_object(document, selection, text))
    }

    /// The edits that mark the reply at the end as cut off.
    pub(crate) fn cut_off(&self) -> Vec<chat::TextEdit> {
        self.with_document(|document, text| chat::mark_cut_off(document.messages(), text))
    }

    /// The lines of tokens and markers that are hidden.
    #[must_use]
    pub fn hidden(&self, lines: Range<usize>) -> Vec<Hidden> {
        self.with_parsed(|document, text| flemma_chat::hidden(document, lines, text))
    }

    /// For each line, whether the user wrote it in this session: for tests.
    #[must_use]
    pub fn own_lines(&self) -> Vec<bool> {
        let count = self.with_document(|_, text| text.line_count());
        (0..count).map(|line| self.is_by_user(line..line + 1)).collect()
    }
}

/// How many calls with this key have a result in a document.
pub(crate) fn answered(document: &Document, text: &dyn Text, key: &CallKey) -> usize {
    let inputs = document.calls().answered_inputs(&key.id, &key.tool, text);
    inputs.iter().filter(|input| input.digest() == key.input).count()
}
