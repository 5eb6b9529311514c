//! One buffer's conversation: its document, its session, and what the buffer's changes mean to them.

use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    buffer::BufferText,
    convert,
    editor::Editor,
    files::Files,
    frontmatter::{Basis, Effective},
    holding::Holding,
    queries,
    saving::OnDisk,
    shell::At,
    tasks::Tasks,
    usage::Bill,
};
use crate::{
    agent::{Activity, CallResult, Input, Level, Session, Shell},
    chat::{
        self, Author, Change, Decoration, Diagnostic, Document, NamedFile, OpenCall, Provenance, Region, Status, Text,
        Update,
    },
    config::Config,
    model::CallId,
    provider::{ProviderName, catalogue},
    runtime::{ConversationId, Notice, Report},
    tools::seconds,
    usage::Record,
};

/// How many lines of a file that was just opened are parsed at a time.
const SLICE: usize = 10_000;

/// How many are parsed before the first screen is drawn.
const FIRST_SLICE: usize = 1_000;

/// How many lines are read at a time before the first request of a conversation.
const READ: usize = 2_500;

/// A request that went out.
pub(super) struct Asked {
    pub(super) provider: ProviderName,
    pub(super) model: String,
    pub(super) at: Instant,
}

/// A conversation.
pub(super) struct Conversation {
    pub(super) id: ConversationId,
    pub(super) buffer: i32,
    pub(super) tasks: Tasks,
    pub(super) session: Session,
    /// Whom the last request went to, and at what price.
    pub(super) bill: RefCell<Option<Bill>>,
    /// What the request that ended last has used, until its end is announced.
    pub(super) accounted: RefCell<Option<Record>>,
    document: RefCell<Document>,
    /// Whether the whole buffer is parsed.
    complete: Cell<bool>,
    /// Whether a request waits for the rest of the messages to be read.
    reading: Cell<bool>,
    /// Who wrote which line.
    pub(super) provenance: RefCell<Provenance>,
    /// What the user wants once they have said whether they trust it.
    pub(super) wanted: RefCell<Option<Input>>,
    /// The files that it names.
    pub(super) files: Files,
    /// Whom the latest request went to.
    pub(super) asked: RefCell<Option<Asked>>,
    /// What the frontmatter came to, and from what.
    pub(super) effective: RefCell<Option<(Basis, Rc<Effective>)>>,
    /// Whether diagnostics are shown, which have to go when their cause does.
    pub(super) diagnosed: Cell<bool>,
    /// Whether the next edit belongs to the step of undo before it.
    pub(super) joins: Cell<bool>,
    /// Whether the user has changed a tool's block, and nobody has looked at it since.
    touched: Cell<bool>,
    /// Whether we are writing: changes that arrive meanwhile are our own.
    pub(super) writing: Cell<bool>,
    /// Its file.
    pub(super) on_disk: OnDisk,
    /// Whether this Neovim is the only one that has it open.
    pub(super) holding: Holding,
}

impl Conversation {
    pub(super) fn new(id: ConversationId, buffer: i32, on_disk: OnDisk) -> Self {
        Self {
            id,
            buffer,
            tasks: Tasks::default(),
            session: Session::default(),
            bill: RefCell::default(),
            accounted: RefCell::default(),
            document: RefCell::default(),
            complete: Cell::new(false),
            reading: Cell::new(false),
            provenance: RefCell::default(),
            wanted: RefCell::default(),
            files: Files::default(),
            asked: RefCell::default(),
            effective: RefCell::default(),
            diagnosed: Cell::new(false),
            joins: Cell::new(false),
            touched: Cell::new(false),
            writing: Cell::new(false),
            on_disk,
            holding: Holding::default(),
        }
    }

    /// Feeds inputs to the session.
    pub(super) fn feed(&self, editor: &Editor, inputs: impl IntoIterator<Item = Input>) {
        self.session.feed(inputs, &At { editor, conversation: self });
    }

    /// The options as they were when they were last needed.
    pub(super) fn config(&self, editor: &Editor) -> Rc<Config> {
        self.effective.borrow().as_ref().map_or_else(|| editor.config(), |(_, file)| Rc::clone(&file.config))
    }

    /// What goes on, for the screen: a reply is the one's that it was asked of, whatever the options say since.
    pub(super) fn activity_text(&self) -> Option<String> {
        let asked = self.asked.borrow();
        let (provider, model) =
            asked.as_ref().map_or((ProviderName::default(), ""), |asked| (asked.provider, asked.model.as_str()));
        match self.session.activity() {
            Activity::Loading if self.reading.get() => Some("reading the conversation".to_owned()),
            activity => queries::activity_text(&activity, provider, model),
        }
    }

    /// How long a reply has taken so far and how much of it has arrived, for the screen; empty while there is none.
    pub(super) fn progress_text(&self) -> String {
        let activity = self.session.activity();
        let is_reply = !matches!(
            activity,
            Activity::Idle | Activity::Loading | Activity::Retrying { .. } | Activity::Executing { .. }
        );
        match &*self.asked.borrow() {
            Some(asked) if is_reply => {
                let rate = catalogue::bytes_per_token(asked.provider.name(), &asked.model);
                queries::progress_text(asked.at.elapsed(), self.session.progress().tokens(rate))
            }
            _ => String::new(),
        }
    }

    /// Whether the whole buffer is parsed.
    pub(super) fn is_complete(&self) -> bool {
        self.complete.get()
    }

    /// Parses the next lines of a file that was just opened; says whether there are more.
    pub(super) fn parse_on(&self) -> bool {
        if self.complete.get() {
            return false;
        }
        let text = BufferText(self.buffer);
        let mut document = self.document.borrow_mut();
        let known = document.line_count();
        let next = text.line_count().min(known + if known == 0 { FIRST_SLICE } else { SLICE });
        let change = Change { first: known, old_last: known, new_last: next };
        self.provenance.borrow_mut().follow(&mut document, change, Author::Stranger, &text);
        self.files.find(&document, known..next, &text);
        // Asked after every slice, so that no slice has to look at all of the calls.
        let _ = document.open_calls(&text);
        let is_reading = next < text.line_count();
        self.provenance.borrow_mut().read(is_reading);
        self.complete.set(!is_reading);
        is_reading
    }

    /// Does, of a file that was just opened, what can be done later; says whether there is more.
    pub(super) fn index_on(&self) -> bool {
        self.provenance.borrow_mut().index(SLICE)
    }

    /// The text changed: the lines `first..old_last` are now the lines `first..new_last`. `author` changed it, unless we did.
    ///
    /// Gives the line up to which the text may look different now: a fence that was opened makes code of what
    /// stands below it.
    pub(super) fn changed(&self, editor: &Editor, change: Change, author: Author) -> usize {
        self.changed_by(editor, [change], author, |document, provenance, change, author, text| {
            provenance.follow(document, change, author, text)
        })
    }

    /// The user has changed each of the lines in these runs by itself: see [`Provenance::follow_lines`]. Gives what
    /// [`Conversation::changed`] does.
    pub(super) fn changed_lines(&self, editor: &Editor, runs: &[[usize; 2]], step: u64) -> usize {
        let changes = runs.iter().map(|[first, last]| Change { first: *first, old_last: *last, new_last: *last });
        self.changed_by(editor, changes, Author::User { step }, |document, provenance, change, _, text| {
            provenance.follow_lines(document, change.first..change.new_last, step, text)
        })
    }

    /// Lines have changed that changed once more before anybody looked at them.
    pub(super) fn missed(&self, lines: std::ops::Range<usize>) {
        self.provenance.borrow_mut().missed(lines);
    }

    fn changed_by(
        &self,
        editor: &Editor,
        changes: impl IntoIterator<Item = Change>,
        author: Author,
        follow: impl Fn(&mut Document, &mut Provenance, Change, Author, &BufferText) -> Update,
    ) -> usize {
        let foreign = !self.writing.get() && self.session.is_busy();
        let author = match (self.writing.get(), self.session.is_replying()) {
            (true, true) => Author::Model,
            (true, false) => Author::Flemma,
            (false, _) => author,
        };
        let (mut last, mut tools) = (0, false);
        let update = || {
            let mut document = self.document.borrow_mut();
            let text = BufferText(self.buffer);
            for change in changes {
                last = last.max(change.new_last);
                let known = document.line_count();
                if change.old_last > known {
                    self.provenance.borrow_mut().missed(change.first.max(known)..change.old_last);
                }
                // What lies behind the parsed part will be read when its turn comes.
                let change = if self.complete.get() || change.old_last <= known {
                    change
                } else if change.first < known {
                    Change { old_last: known, ..change }
                } else {
                    continue;
                };
                let mut provenance = self.provenance.borrow_mut();
                let update = follow(&mut document, &mut provenance, change, author, &text);
                let changed = change.first..change.new_last;
                if author == Author::Flemma {
                    self.files.written(&document, changed.clone(), &text);
                }
                self.files.follow(&document, &provenance, &changed, &update.lines, &text);
                let doubt = provenance.take_suspected();
                self.files.undone(&document, &provenance, doubt, &text);
                last = last.max(update.lines.end);
                tools |= update.tools;
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(update)) {
            // What was half updated is thrown away and parsed anew.
            self.document.take();
            self.provenance.take();
            self.complete.set(false);
            resume_unwind(panic);
        }
        if tools {
            editor.host.refresh(self.buffer);
            self.touched.set(!self.writing.get() && self.complete.get() && !self.session.is_busy());
        }
        if self.provenance.borrow().is_unsettled() || self.files.is_unsettled() {
            editor.host.refresh(self.buffer);
        }
        if foreign {
            self.stop_for_foreign_change(editor);
        }
        last
    }

    /// The changes since the user's last step were undo or redo.
    pub(super) fn undone(&self) {
        let document = self.document.borrow();
        let text = BufferText(self.buffer);
        let mut provenance = self.provenance.borrow_mut();
        let doubt = provenance.undone(&text);
        self.files.undone(&document, &provenance, doubt, &text);
    }

    /// The user's edit is complete.
    pub(super) fn noticed(&self, editor: &Editor) {
        self.provenance.borrow_mut().settle();
        self.files.settle();
        if self.touched.take() && !self.session.is_busy() {
            self.session.notice(&At { editor, conversation: self });
        }
    }

    /// The buffer was read anew from its file; says whether `parse_on` has more to do.
    pub(super) fn reloaded(&self, editor: &Editor) -> bool {
        *self.document.borrow_mut() = Document::default();
        self.provenance.take();
        self.files.forget();
        self.complete.set(false);
        let more = self.parse_on();
        if self.session.is_busy() {
            self.stop_for_foreign_change(editor);
        }
        more
    }

    /// Somebody else changed a buffer that we hold locked: where we would write next is no longer certain, so we
    /// write no more.
    fn stop_for_foreign_change(&self, editor: &Editor) {
        if self.session.is_replying() {
            // Not now: whoever changes the text is at it.
            editor.worker.queue().push(Notice { conversation: self.id, report: Report::CutOff });
        }
        self.tasks.stop_all();
        self.session.account(&At { editor, conversation: self }, false);
        self.session.abandon();
        editor.host.lock(self.buffer, false);
        editor.host.show(self.buffer, false);
        editor.host.notify(
            Level::Warn,
            "the buffer was changed by something else while a reply or a tool was at work; both were stopped",
        );
    }

    /// Says in the document that the reply at its end was cut off, and makes room to go on.
    pub(super) fn mark_cut_off(&self, editor: &Editor) {
        if self.session.is_busy() {
            return;
        }
        let shell = At { editor, conversation: self };
        let edits = self.with_document(|document, text| chat::mark_cut_off(document, text));
        if !edits.is_empty() {
            shell.undo_step();
            shell.apply(&edits);
            shell.apply(&self.with_document(|document, text| chat::open_prompt(document, text)).0);
        }
    }

    /// What is wrong with the text, and with the files that it names.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.with_document(|document, text| {
            let mut found = document.diagnostics(text);
            found.extend(document.unsent(text));
            found.extend(self.files.diagnostics(document, text));
            found.sort_by_key(|diagnostic| diagnostic.line);
            found
        })
    }

    /// Shows what is wrong.
    pub(super) fn diagnose(&self, editor: &Editor) {
        let diagnostics = self.diagnostics();
        self.diagnosed.set(!diagnostics.is_empty());
        editor.host.diagnose(self.buffer, &diagnostics);
    }

    /// Brings the diagnostics that are shown up to date.
    pub(super) fn diagnose_again(&self, editor: &Editor) {
        if self.diagnosed.get() {
            self.diagnose(editor);
        }
    }

    /// The references to files in these lines, as far as they are parsed.
    pub(super) fn references(&self, lines: std::ops::Range<usize>) -> Vec<NamedFile> {
        let document = self.document.borrow();
        let known = document.line_count();
        let lines = lines.start.min(known)..lines.end.min(known);
        let mut files = document.files(lines, &BufferText(self.buffer));
        files.retain(|file| file.columns.is_some());
        files
    }

    /// The colours of the lines on the screen, as far as they are parsed.
    pub(super) fn decorations(&self, lines: std::ops::Range<usize>) -> Vec<Decoration> {
        self.document.borrow().decorations(lines)
    }

    /// The open calls whose blocks these lines touch, in their order.
    pub(super) fn calls_in(&self, lines: std::ops::Range<usize>) -> Vec<CallId> {
        self.with_document(|document, text| {
            let mut touched: Vec<CallId> = Vec::new();
            for line in lines.start..lines.end.min(text.line_count()) {
                if let Some(call) = document.call_at(line).filter(|call| !touched.contains(&call.id)) {
                    touched.push(call.id);
                }
            }
            let open = document.open_calls(text);
            open.into_iter().map(|call| call.id).filter(|id| touched.contains(id)).collect()
        })
    }

    /// Whether a line belongs to a call that waits for the user's decision.
    pub(super) fn waits_at(&self, line: usize) -> bool {
        self.with_document(|document, text| {
            let Some(here) = document.call_at(line).map(|call| call.id) else { return false };
            let open = document.open_calls(text);
            open.iter().any(|call| {
                let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
                call.id == here && status == Some(Status::Pending)
            })
        })
    }

    /// Whether the status in a call's block was written in this session, by the user or after a decision.
    pub(super) fn is_authorised(&self, call: &OpenCall) -> bool {
        call.placeholder.as_ref().is_some_and(|placeholder| self.provenance.borrow().is_authorised(placeholder.fence))
    }

    /// The status that was just written into a call's block was decided.
    pub(super) fn authorise(&self, call: &CallId) {
        self.with_document(|document, text| {
            if let Some(line) = document.status_line(call) {
                self.provenance.borrow_mut().authorise(line, text);
            }
        });
    }

    /// Stops a running tool.
    pub(super) fn stop_tool(&self, editor: &Editor, call: &CallId) {
        if let Some(error) = self.tasks.stop_tool(call) {
            let words = format!("a tool threw when its call {call} was stopped: {}", convert::words(&error));
            editor.log(Level::Error, &words);
            editor.host.notify(Level::Warn, &words);
        }
    }

    /// The time of a tool written in Lua is up.
    pub(super) fn expire(&self, editor: &Editor, call: &CallId, run: u64, limit: Duration) {
        if self.tasks.is_run(call, run) {
            self.stop_tool(editor, call);
            let limit = seconds::in_words(limit);
            let answer = CallResult::error(format!("The tool did not answer within {limit} and was stopped."));
            self.feed(editor, [Input::ToolFinished { call: call.clone(), answer }]);
        }
    }

    /// What of the lines on the screen is Markdown and what is code, as far as they are parsed.
    pub(super) fn regions(&self, lines: std::ops::Range<usize>) -> Vec<Region> {
        self.document.borrow().regions(lines)
    }

    /// Puts together what a request says of some messages that no request has been made of; says whether there are more.
    pub(super) fn read_on(&self) -> bool {
        let more = self.parse_on() || self.with_document(|document, text| document.build_on(text, READ));
        self.reading.set(more);
        more
    }

    /// Lends the document, parsed to its end.
    pub(super) fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        while self.parse_on() {}
        look(&mut self.document.borrow_mut(), &BufferText(self.buffer))
    }
}
