//! A host that is plain lists: buffers with their history of undo, and what the workspace has shown, asked and announced.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    rc::{Rc, Weak},
    sync::mpsc::Sender,
};

use jiff::Timestamp;

use flemma_agent::{CursorTarget, Level, LifecycleEvent};
use flemma_chat::{Author, Change, Diagnostic, EditorSubject, Text, TextEdit};
use flemma_model::UserError;
use flemma_workspace::{
    EditorView, Host, HostEffect, LookedUp, Workspace,
    ports::{Place, Question},
};

/// One change of lines: where, what was there, and what came.
#[derive(Clone, Debug)]
struct Change1 {
    first: usize,
    old: Vec<String>,
    new: Vec<String>,
}

/// A step of undo: what is undone together.
#[derive(Clone, Debug)]
struct Step {
    number: u64,
    changes: Vec<Change1>,
}

/// The steps of undo, and how many of them are done. Like Neovim's, except that an edit after undo forgets what was undone.
#[derive(Debug, Default)]
struct History {
    steps: Vec<Step>,
    done: usize,
    last: u64,
}

impl History {
    /// `:help changenr()`.
    fn number(&self) -> u64 {
        self.done.checked_sub(1).map_or(0, |at| self.steps[at].number)
    }

    fn begin(&mut self) {
        self.steps.truncate(self.done);
        self.last += 1;
        self.steps.push(Step { number: self.last, changes: Vec::new() });
        self.done += 1;
    }
}

/// A buffer.
#[derive(Debug, Default)]
pub struct Buffer {
    lines: RefCell<Vec<String>>,
    pub file: RefCell<String>,
    history: RefCell<History>,
    pub is_locked: Cell<bool>,
    pub is_busy: Cell<bool>,
    /// Whether it is read-only because its file is held elsewhere.
    pub is_observed: Cell<bool>,
    pub is_modified: Cell<bool>,
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    pub cursor: Cell<Option<CursorTarget>>,
    /// Whether the workspace wants to hear that the user's edit is complete.
    needs_notice: Cell<bool>,
}

impl Text for Buffer {
    fn line_count(&self) -> usize {
        self.lines.borrow().len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        self.lines.borrow().read(lines, each);
    }
}

impl Buffer {
    pub fn new(lines: Vec<String>, file: &str) -> Self {
        let lines = if lines.is_empty() { vec![String::new()] } else { lines };
        Self { lines: RefCell::new(lines), file: RefCell::new(file.to_owned()), ..Self::default() }
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Replaces lines, in the latest step of undo.
    fn splice(&self, first: usize, old: usize, new: Vec<String>) -> Change {
        let change = Change { first, old_last: first + old, new_last: first + new.len() };
        self.is_modified.set(true);
        let old = self.lines.borrow_mut().splice(first..first + old, new.clone()).collect();
        let mut history = self.history.borrow_mut();
        let at = history.done - 1;
        history.steps[at].changes.push(Change1 { first, old, new });
        change
    }

    /// Replaces all lines, and forgets what could be undone.
    pub fn load(&self, lines: Vec<String>) {
        *self.lines.borrow_mut() = lines;
        self.history.take();
        self.is_modified.set(false);
    }

    pub fn take_notice(&self) -> bool {
        self.needs_notice.take()
    }
}

/// The host.
pub struct FakeHost {
    workspace: RefCell<Weak<Workspace>>,
    buffers: RefCell<BTreeMap<i32, Rc<Buffer>>>,
    pub cwd: PathBuf,
    waker: Sender<()>,
    /// What the user was told, a line each: `warn: …`.
    pub told: RefCell<Vec<String>>,
    pub questions: RefCell<Vec<(i32, u64, Question)>>,
    /// What other plugins were told, a line each.
    pub announced: RefCell<Vec<String>>,
    /// The ends of writes: buffer, tick and problem.
    pub saved: RefCell<Vec<(i32, i64, Option<String>)>>,
    /// The time, if it is not the system's.
    pub clock: Cell<Option<Timestamp>>,
    pub has_ui: Cell<bool>,
    pub is_in_sight: Cell<bool>,
    pub is_typing: Cell<bool>,
    /// The calls whose forms were opened.
    pub forms: RefCell<Vec<String>>,
    /// The files that are open with changes which are not saved.
    pub unsaved: RefCell<Vec<PathBuf>>,
    /// What the editor shows for a reference; without it there is no editor.
    pub view: RefCell<Option<Show>>,
    /// Whether it answers later: see [`FakeHost::answer_look`].
    pub looks_later: Cell<bool>,
    /// What it was asked and has not answered.
    looks: RefCell<Vec<(i32, u64, Vec<LookedUp>)>>,
    /// The references that it was asked about.
    pub looked_up: RefCell<Vec<String>>,
}

/// What the editor shows for a reference.
pub type Show = Box<dyn Fn(EditorSubject, Option<&Path>) -> Result<EditorView, UserError>>;

impl FakeHost {
    pub fn new(cwd: PathBuf, waker: Sender<()>) -> Self {
        Self {
            workspace: RefCell::default(),
            buffers: RefCell::default(),
            cwd,
            waker,
            told: RefCell::default(),
            questions: RefCell::default(),
            announced: RefCell::default(),
            clock: Cell::default(),
            has_ui: Cell::new(true),
            is_in_sight: Cell::new(true),
            is_typing: Cell::default(),
            forms: RefCell::default(),
            unsaved: RefCell::default(),
            saved: RefCell::default(),
            view: RefCell::default(),
            looks_later: Cell::default(),
            looks: RefCell::default(),
            looked_up: RefCell::default(),
        }
    }

    /// From now on, changes are reported to this workspace.
    pub fn report_to(&self, workspace: &Rc<Workspace>) {
        *self.workspace.borrow_mut() = Rc::downgrade(workspace);
    }

    fn workspace(&self) -> Rc<Workspace> {
        self.workspace.borrow().upgrade().expect("the workspace is there")
    }

    pub fn add(&self, number: i32, buffer: Buffer) {
        self.buffers.borrow_mut().insert(number, Rc::new(buffer));
    }

    pub fn remove(&self, number: i32) {
        self.buffers.borrow_mut().remove(&number);
    }

    /// A buffer that is there.
    #[track_caller]
    pub fn buffer(&self, number: i32) -> Rc<Buffer> {
        self.find(number).expect("the buffer is there")
    }

    fn find(&self, number: i32) -> Option<Rc<Buffer>> {
        self.buffers.borrow().get(&number).cloned()
    }

    pub fn numbers(&self) -> Vec<i32> {
        self.buffers.borrow().keys().copied().collect()
    }

    /// Does something to a buffer, if it is there.
    fn on(&self, number: i32, act: impl FnOnce(&Buffer)) {
        if let Some(buffer) = self.find(number) {
            act(&buffer);
        }
    }

    pub fn wake(&self) {
        let _ = self.waker.send(());
    }

    fn look(&self, buffer: i32, number: u64, references: &[LookedUp]) {
        let names = references.iter().map(|(subject, path)| match path {
            Some(path) => format!("{subject} {}", path.display()),
            None => subject.to_string(),
        });
        self.looked_up.borrow_mut().extend(names);
        self.looks.borrow_mut().push((buffer, number, references.to_vec()));
        if !self.looks_later.get() {
            self.answer_look();
        }
    }

    /// Answers what it was asked first.
    pub fn answer_look(&self) {
        let (buffer, number, references) = self.looks.borrow_mut().remove(0);
        let views = self.view.borrow();
        let show = views.as_ref().expect("the editor shows something");
        let views = references.iter().map(|(subject, path)| show(*subject, path.as_deref())).collect();
        self.workspace().references.looked(buffer, number, views);
    }

    // What the user does to a buffer.

    /// Replaces lines, each of these in turn, in one step of undo.
    pub fn edit(&self, number: i32, changes: impl IntoIterator<Item = (Range<usize>, Vec<String>)>) {
        let buffer = self.buffer(number);
        buffer.history.borrow_mut().begin();
        let step = buffer.history.borrow().number();
        for (lines, with) in changes {
            let change = buffer.splice(lines.start, lines.len(), with);
            self.workspace().changed(number, change, Author::User { step });
        }
    }

    /// `:read`: lines of another file come in above `line`.
    pub fn read_in(&self, number: i32, line: usize, with: Vec<String>) {
        let buffer = self.buffer(number);
        let lines = line..line + with.len();
        buffer.history.borrow_mut().begin();
        let change = buffer.splice(line, 0, with);
        self.workspace().changed(number, change, Author::Stranger);
        self.workspace().conversation(number).expect("a conversation").read_in(lines);
    }

    /// Takes a step back; says whether there was one. Neovim counts the changes to the step that is taken back.
    pub fn undo(&self, number: i32) -> bool {
        let buffer = self.buffer(number);
        let step = buffer.history.borrow().number();
        let Some(at) = buffer.history.borrow().done.checked_sub(1) else { return false };
        let changes = buffer.history.borrow().steps[at].changes.clone();
        for Change1 { first, old, new } in changes.into_iter().rev() {
            let change = Change { first, old_last: first + new.len(), new_last: first + old.len() };
            buffer.lines.borrow_mut().splice(first..first + new.len(), old);
            self.workspace().changed(number, change, Author::User { step });
        }
        buffer.history.borrow_mut().done = at;
        self.workspace().conversation(number).expect("a conversation").page.undone();
        true
    }

    /// Takes a step forward again; says whether there was one.
    pub fn redo(&self, number: i32) -> bool {
        let buffer = self.buffer(number);
        let step = buffer.history.borrow().number();
        let at = buffer.history.borrow().done;
        let Some(changes) = buffer.history.borrow().steps.get(at).map(|step| step.changes.clone()) else {
            return false;
        };
        for Change1 { first, old, new } in changes {
            let change = Change { first, old_last: first + old.len(), new_last: first + new.len() };
            buffer.lines.borrow_mut().splice(first..first + old.len(), new);
            self.workspace().changed(number, change, Author::User { step });
        }
        buffer.history.borrow_mut().done = at + 1;
        self.workspace().conversation(number).expect("a conversation").page.undone();
        true
    }
}

impl Host for FakeHost {
    fn text(&self, buffer: i32) -> Rc<dyn Text> {
        self.buffer(buffer)
    }

    fn write(&self, buffer: i32, edit: &TextEdit, joins: bool) -> Result<(), UserError> {
        let Some(found) = self.find(buffer) else { return Err(UserError::new(format!("there is no buffer {buffer}"))) };
        {
            let mut history = found.history.borrow_mut();
            if !joins || history.done == 0 {
                history.begin();
            }
        }
        let mut lines = found.lines();
        edit.apply(&mut lines);
        let mut change = edit.change();
        // Whole lines are inserted between others, as `lua/flemma/buffer/writing.lua` does it.
        if edit.start == edit.end && edit.lines.len() > 1 && change.old_last == change.first + 1 {
            if edit.lines[0].is_empty() && edit.start.column == found.length(change.first) {
                change = Change { first: change.first + 1, ..change };
            } else if edit.lines.last().is_some_and(String::is_empty) && edit.start.column == 0 {
                change = Change { old_last: change.old_last - 1, new_last: change.new_last - 1, ..change };
            }
        }
        let new = lines[change.first..change.new_last].to_vec();
        let change = found.splice(change.first, change.old_last - change.first, new);
        self.workspace().changed(buffer, change, Author::Stranger);
        Ok(())
    }

    fn read_again(&self, number: i32) -> bool {
        let Some(buffer) = self.find(number).filter(|buffer| !buffer.is_modified.get()) else { return false };
        let text = fs::read_to_string(&*buffer.file.borrow()).unwrap_or_default();
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        if lines != buffer.lines() {
            buffer.load(lines);
            while self.workspace().reloaded(number) {}
        }
        false
    }

    fn place(&self, buffer: i32) -> Place {
        let file = self.find(buffer).map(|buffer| buffer.file.borrow().clone()).unwrap_or_default();
        Place { file, cwd: self.cwd.clone(), project: None }
    }

    fn open_conversations(&self) -> Vec<PathBuf> {
        let files = self.buffers.borrow().values().map(|buffer| buffer.file.borrow().clone()).collect::<Vec<_>>();
        files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
    }

    fn now(&self) -> Timestamp {
        self.clock.get().unwrap_or_else(Timestamp::now)
    }

    fn has_ui(&self) -> bool {
        self.has_ui.get()
    }

    fn is_in_sight(&self, _: i32) -> bool {
        self.is_in_sight.get()
    }

    fn is_typing(&self, _: i32) -> bool {
        self.is_typing.get()
    }

    fn unsaved_files(&self) -> Vec<PathBuf> {
        self.unsaved.borrow().clone()
    }

    fn has_changes(&self, buffer: i32) -> bool {
        self.find(buffer).is_some_and(|buffer| buffer.is_modified.get())
    }

    fn is_editor(&self) -> bool {
        self.view.borrow().is_some()
    }

    fn perform(&self, effect: HostEffect<'_>) {
        match effect {
            HostEffect::Lock { buffer, is_locked } => self.on(buffer, |it| it.is_locked.set(is_locked)),
            HostEffect::Observe { buffer, is_observed } => self.on(buffer, |it| it.is_observed.set(is_observed)),
            HostEffect::Show { buffer, is_busy, .. } => self.on(buffer, |it| it.is_busy.set(is_busy)),
            HostEffect::Refresh { buffer } | HostEffect::Unsettled { buffer } => {
                self.on(buffer, |it| it.needs_notice.set(true));
            }
            HostEffect::Diagnose { buffer, diagnostics } => {
                self.on(buffer, |it| diagnostics.clone_into(&mut it.diagnostics.borrow_mut()));
            }
            HostEffect::Cursor { buffer, target } => self.on(buffer, |it| it.cursor.set(Some(target))),
            HostEffect::TurnOver { buffer } => self.announced.borrow_mut().push(format!("turn over in {buffer}")),
            HostEffect::Announce { buffer, moment, .. } => self.announced.borrow_mut().push(announced(buffer, moment)),
            HostEffect::Notify { level, message } => {
                let level = match level {
                    Level::Info => "info",
                    Level::Warn => "warn",
                    Level::Error => "error",
                };
                self.told.borrow_mut().push(format!("{level}: {message}"));
            }
            HostEffect::Look { buffer, number, references } => self.look(buffer, number, references),
            HostEffect::OpenForm { call, .. } => self.forms.borrow_mut().push(call.to_string()),
            HostEffect::Saved { buffer, saved } => {
                self.saved.borrow_mut().push((buffer, saved.tick, saved.problem.map(|error| error.to_string())));
            }
            HostEffect::Ask { buffer, number, question } => {
                self.questions.borrow_mut().push((buffer, number, question));
            }
            // The pause is for the user's keys; nobody types here.
            HostEffect::Wake | HostEffect::WakeAfter { .. } => self.wake(),
            _ => {}
        }
    }
}

fn announced(buffer: i32, moment: LifecycleEvent<'_>) -> String {
    match moment {
        LifecycleEvent::RequestSending => format!("sending from {buffer}"),
        LifecycleEvent::RequestFinished { complete: true } => format!("finished in {buffer}"),
        LifecycleEvent::RequestFinished { complete: false } => format!("cut off in {buffer}"),
        LifecycleEvent::ToolExecuting(call) => format!("executing {} {}", call.name, call.id),
        LifecycleEvent::ToolFinished(call) => format!("tool finished {call}"),
        LifecycleEvent::ToolPending(call, kind) => format!("pending {call} {kind}"),
    }
}
