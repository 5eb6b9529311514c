//! A host of plain lines: conversations without an editor.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    path::PathBuf,
    rc::{Rc, Weak},
    sync::mpsc::Sender,
    time::Duration,
};

use crate::{
    agent::Level,
    chat::{Author, Text, TextEdit},
    workspace::{
        Host, Workspace,
        ports::{HostError, Place, Question},
    },
};

/// The buffer of the one conversation that is open.
pub(super) const BUFFER: i32 = 1;

/// The lines of the conversation.
#[derive(Debug, Default)]
struct Lines(RefCell<Vec<String>>);

impl Text for Lines {
    fn line_count(&self) -> usize {
        self.0.borrow().len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        self.0.borrow().read(lines, each);
    }
}

/// The host. It shows nothing, runs nothing and asks nothing.
pub(super) struct FileHost {
    workspace: RefCell<Weak<Workspace>>,
    lines: Rc<Lines>,
    file: String,
    cwd: PathBuf,
    is_changed: Cell<bool>,
    waker: Sender<()>,
    /// What the user has to know, warnings and errors only.
    told: RefCell<Vec<String>>,
}

impl FileHost {
    pub(super) fn new(file: String, cwd: PathBuf, waker: Sender<()>) -> Self {
        Self {
            workspace: RefCell::default(),
            lines: Rc::default(),
            file,
            cwd,
            is_changed: Cell::default(),
            waker,
            told: RefCell::default(),
        }
    }

    /// From now on, changes are reported to this workspace.
    pub(super) fn report_to(&self, workspace: &Rc<Workspace>) {
        *self.workspace.borrow_mut() = Rc::downgrade(workspace);
    }

    /// Whether the text was changed since it was read.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed.get()
    }

    /// Another text takes the place of all lines, as when a file is read again.
    pub(super) fn load(&self, lines: Vec<String>) {
        *self.lines.0.borrow_mut() = lines;
        self.is_changed.set(false);
    }

    /// What was told, for standard error.
    pub(super) fn told(&self) -> Vec<String> {
        self.told.take()
    }
}

impl Host for FileHost {
    fn text(&self, _: i32) -> Rc<dyn Text> {
        Rc::clone(&self.lines) as Rc<dyn Text>
    }

    fn write(&self, buffer: i32, edit: &TextEdit, _: bool) -> Result<(), HostError> {
        edit.apply(&mut self.lines.0.borrow_mut());
        self.is_changed.set(true);
        if let Some(workspace) = self.workspace.borrow().upgrade() {
            workspace.changed(buffer, edit.change(), Author::Stranger);
        }
        Ok(())
    }

    fn place(&self, _: i32) -> Place {
        Place { file: self.file.clone(), cwd: self.cwd.clone(), project: None }
    }

    fn open_conversations(&self) -> Vec<PathBuf> {
        vec![PathBuf::from(&self.file)]
    }

    fn notify(&self, level: Level, message: &str) {
        if level != Level::Info {
            self.told.borrow_mut().push(message.to_owned());
        }
    }

    fn has_ui(&self) -> bool {
        false
    }

    fn carries_on(&self) -> bool {
        false
    }

    // Nobody is there who could answer, so the conversation waits for an editor.
    fn ask(&self, _: i32, _: u64, _: Question) {}

    fn wake(&self) {
        let _ = self.waker.send(());
    }

    // The pause is for the keys of a user.
    fn wake_after(&self, _: Duration) {
        self.wake();
    }
}
