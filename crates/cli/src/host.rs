//! A host of plain lines: conversations without an editor.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    path::PathBuf,
    rc::{Rc, Weak},
    sync::mpsc::Sender,
};

use super::{files, report::Failure};
use flemma_agent::Level;
use flemma_chat::{Author, Text, TextEdit};
use flemma_model::UserError;
use flemma_workspace::{FileLayout, Host, HostEffect, Workspace, ports::Place};

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
    /// Where changes are reported.
    pub(super) workspace: RefCell<Weak<Workspace>>,
    lines: Rc<Lines>,
    layout: Cell<FileLayout>,
    path: PathBuf,
    /// Why the file could not be read again.
    pub(super) failure: RefCell<Option<Failure>>,
    cwd: PathBuf,
    /// Whether the text was changed since it was read.
    pub(super) is_changed: Cell<bool>,
    waker: Sender<()>,
    /// What the user has to know, warnings and errors only.
    pub(super) told: RefCell<Vec<String>>,
}

impl FileHost {
    /// Reads the file at this absolute path.
    ///
    /// # Errors
    /// When it cannot be read, or is no text.
    pub(super) fn open(path: PathBuf, cwd: PathBuf, waker: Sender<()>) -> Result<Self, Failure> {
        let (layout, lines) = files::read(&path)?;
        Ok(Self {
            workspace: RefCell::default(),
            lines: Rc::new(Lines(RefCell::new(lines))),
            layout: Cell::new(layout),
            path,
            failure: RefCell::default(),
            cwd,
            is_changed: Cell::default(),
            waker,
            told: RefCell::default(),
        })
    }

    /// How the file is written. Whatever is added to an empty one is a line.
    pub(super) fn layout(&self) -> FileLayout {
        FileLayout { is_empty: false, ..self.layout.get() }
    }
}

impl Host for FileHost {
    fn text(&self, _: i32) -> Rc<dyn Text> {
        Rc::clone(&self.lines) as Rc<dyn Text>
    }

    fn write(&self, buffer: i32, edit: &TextEdit, _: bool) -> Result<(), UserError> {
        edit.apply(&mut self.lines.0.borrow_mut());
        self.is_changed.set(true);
        if let Some(workspace) = self.workspace.borrow().upgrade() {
            workspace.changed(buffer, edit.change(), Author::Stranger);
        }
        Ok(())
    }

    fn read_again(&self, buffer: i32) -> bool {
        match files::read(&self.path) {
            Ok((layout, lines)) => {
                self.layout.set(layout);
                if lines != *self.lines.0.borrow() {
                    // What was told before was about the other text.
                    self.told.take();
                    *self.lines.0.borrow_mut() = lines;
                    self.is_changed.set(false);
                    if let Some(workspace) = self.workspace.borrow().upgrade() {
                        workspace.reloaded(buffer);
                    }
                }
            }
            Err(failure) => *self.failure.borrow_mut() = Some(failure),
        }
        false
    }

    fn place(&self, _: i32) -> Place {
        Place { file: self.path.to_string_lossy().into_owned(), cwd: self.cwd.clone(), project: None }
    }

    fn open_conversations(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn has_ui(&self) -> bool {
        false
    }

    fn carries_on(&self) -> bool {
        false
    }

    // Nobody is there who could answer a question, so the conversation waits for an editor.
    fn perform(&self, effect: HostEffect<'_>) {
        match effect {
            HostEffect::Notify { level: Level::Warn | Level::Error, message } => {
                self.told.borrow_mut().push(message.to_owned());
            }
            // The pause is for the keys of a user.
            HostEffect::Wake | HostEffect::WakeAfter { .. } => {
                let _ = self.waker.send(());
            }
            _ => {}
        }
    }
}
