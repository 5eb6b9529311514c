//! One conversation, open without an editor: its lock is held here, its journal is read, and nothing runs.

use std::{
    env,
    path::{Path, PathBuf},
    rc::Rc,
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use super::{
    host::{BUFFER, FileHost},
    names,
    report::Failure,
    state,
};
use flemma_journal::Role;
use flemma_model::CallId;
use flemma_runtime::Owner;
use flemma_workspace::{NoScripts, Resolution, ResolveError, Workspace};

/// How long the disk may take for one thing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether a conversation could be opened.
pub(super) enum Opened {
    /// It is held here.
    Here(Box<Desk>),
    /// Another process holds it; who, if it is known.
    Elsewhere(Option<Owner>),
}

/// An open conversation.
pub(super) struct Desk {
    pub(super) workspace: Rc<Workspace>,
    host: Rc<FileHost>,
    woken: Receiver<()>,
    path: PathBuf,
}

/// What happens if another process holds the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// It is left to that process.
    Ask,
    /// It is taken away from that process, which notices before it writes or runs anything more.
    Steal,
}

impl Desk {
    /// Opens a conversation. What its journal has and its file lacks is in its text then.
    ///
    /// # Errors
    /// When the file cannot be read, or the conversation cannot be taken over.
    pub(super) fn open(path: &Path, lock: Lock) -> Result<Opened, Failure> {
        let path = state::absolute(path)?;
        let folder = state::folder()?;
        let (waker, woken) = mpsc::channel();
        let cwd = env::current_dir().unwrap_or_default();
        // With no text, the journal would have calls that the file seems to lack.
        let host = Rc::new(FileHost::open(path.clone(), cwd, waker.clone())?);
        let wake = move || {
            let _ = waker.send(());
        };
        let workspace = Workspace::new(host.clone(), Rc::new(NoScripts), &folder, wake);
        *host.workspace.borrow_mut() = Rc::downgrade(&workspace);
        workspace.attach(BUFFER);
        let desk = Self { workspace, host, woken, path };
        desk.wait("the lock", |desk| desk.workspace.ownership.holder(BUFFER).map(drop))?;
        if lock == Lock::Steal && matches!(desk.workspace.ownership.holder(BUFFER), Some(Err(_))) {
            desk.workspace.ownership.steal(BUFFER);
            desk.wait("the lock", |desk| desk.workspace.ownership.holder(BUFFER).map(drop))?;
            if let (Some(Err(_)), Some(problem)) =
                (desk.workspace.ownership.holder(BUFFER), desk.host.told.take().pop())
            {
                return Err(Failure::Failed(problem));
            }
            // Who held it is no news.
            desk.host.told.take();
        }
        if let Some(Err(owner)) = desk.workspace.ownership.holder(BUFFER) {
            return Ok(Opened::Elsewhere(owner));
        }
        // Nobody else writes it from now on. Both it and the journal are as they were when it was locked.
        if let Some(failure) = desk.host.failure.take() {
            return Err(failure);
        }
        desk.workspace.saving.on_disk(BUFFER, &desk.path.clone());
        while desk.workspace.parse_on(BUFFER) {}
        desk.wait("the journal", |desk| desk.workspace.is_settled(BUFFER).then_some(()))?;
        Ok(Opened::Here(Box::new(desk)))
    }

    /// Does what the background leaves, until there is an answer.
    ///
    /// # Errors
    /// When it takes too long. `what` names what was waited for.
    pub(super) fn wait<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> Result<T, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look(self) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.woken.recv_timeout(left).is_err() {
                let seconds = PATIENCE.as_secs();
                return Err(Failure::Failed(format!(
                    "{}: {what} was waited for in vain for {seconds} seconds; the disk does not answer",
                    names::path(&self.path)
                )));
            }
            self.workspace.drain();
        }
    }

    /// Resolves a call. When this returns, the resolution is recorded and in the text.
    ///
    /// # Errors
    /// Why it was not resolved, or that it is not known whether it was.
    pub(super) fn resolve(
        &self,
        call: &CallId,
        resolution: Resolution,
        role: Role,
    ) -> Result<Result<(), ResolveError>, Failure> {
        let (tell, told) = mpsc::channel();
        self.workspace.resolve_later(BUFFER, call, resolution, role, move |_, resolved| {
            let _ = tell.send(resolved);
        });
        let resolved = self.wait("the record of the call", |_| told.try_recv().ok())?;
        self.settle()?;
        Ok(resolved)
    }

    /// Waits until everything that is being resolved is: a call that was answered too late gets its error result.
    ///
    /// # Errors
    /// When it takes too long.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        self.wait("the record of a call", |desk| (!desk.workspace.calls.is_resolving(BUFFER)).then_some(()))
    }

    /// Writes the file, if its text was changed, and gives the conversation back. Gives what there was to be told.
    ///
    /// # Errors
    /// When the file was not written. What was recorded comes into it when it is opened next.
    pub(super) fn close(self) -> (Vec<String>, Result<(), Failure>) {
        let written = if self.host.is_changed.get() {
            let saved = self.workspace.saving.save_now(BUFFER, self.path.clone(), self.host.layout(), false);
            saved.map_err(|error| Failure::Failed(error.without_advice().to_string()))
        } else {
            Ok(())
        };
        self.workspace.shut_down();
        (self.host.told.take(), written)
    }
}
