//! Who holds a conversation: this process, or another one.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use tokio::task::AbortHandle;

use crate::{generation::Generation, ports::Host, trust::Wish};
use flemma_runtime::{
    Owner,
    holder::{BufferLocks, Held},
};

/// Who holds a conversation, as far as this process knows.
#[derive(Debug, Default)]
pub(crate) enum Holder {
    /// Nobody has to: it has no file.
    #[default]
    Free,
    /// It is being found out.
    Unknown,
    /// This process does it for this buffer, as long as this value lives.
    This(Held),
    /// Another process, or this one for another buffer. Here the conversation is only shown.
    Other(OtherHolder),
}

/// Who else holds a conversation, if it is known.
#[derive(Clone, Debug)]
pub(crate) struct OtherHolder(pub(crate) Option<Owner>);

impl OtherHolder {
    fn is_this_process(&self) -> bool {
        self.0.as_ref().is_some_and(|owner| *owner == Owner::this())
    }

    /// Where the conversation is open.
    pub(crate) fn place(&self) -> String {
        match &self.0 {
            _ if self.is_this_process() => "in another buffer of this Neovim".to_owned(),
            Some(owner) => format!("in another Neovim ({owner})"),
            None => "in another Neovim".to_owned(),
        }
    }

    /// Says that the conversation of this name was taken away from here.
    pub(crate) fn message_of_loss(&self, name: &str) -> String {
        let by = self.0.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string);
        format!("{name} was taken over by {by}. It is read-only here until that process closes it.")
    }

    /// Says that the conversation of this name is only shown here.
    pub(crate) fn message(&self, name: &str) -> String {
        let end = if self.is_this_process() { "that buffer is closed" } else { "that editor closes it" };
        format!("{name} is open {}. It is read-only here until {end}.", self.place())
    }
}

/// Who holds a conversation, and the user's wish that waits for the answer.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    holder: RefCell<Holder>,
    /// The conversation's file.
    path: RefCell<String>,
    /// The attempts to hold it. The results of all but the latest one have no effect.
    pub(crate) attempts: Generation,
    /// The watch that says when it is free. It ends with its attempt.
    pub(crate) watch: RefCell<Option<AbortHandle>>,
    /// Whether the buffer is read-only because of it. It stays so while another name is tried.
    pub(crate) is_observed: Cell<bool>,
    /// Whether the user was told that the file of this name is held elsewhere, and not yet that it no longer is.
    pub(crate) is_told: Cell<bool>,
    /// Whether the file was written while it was being found out, so that its locks have to be looked at again.
    pub(crate) is_written: Cell<bool>,
    /// Whether the conversation was taken over from this process, which has not heard yet who holds it now.
    pub(crate) is_lost: Cell<bool>,
    /// What waits until it is known who holds the conversation.
    pub(crate) wanted: RefCell<Option<Wish>>,
}

impl Holding {
    /// Another attempt begins, for a file of this name. Gives its number, and the locks that this process has now.
    pub(crate) fn begin(&self, path: &str) -> (u64, Option<Held>) {
        if *self.path.borrow() != path {
            self.is_told.set(false);
        }
        self.is_written.set(false);
        self.is_lost.set(false);
        path.clone_into(&mut self.path.borrow_mut());
        (self.next_attempt(), self.set(Holder::Unknown))
    }

    /// The conversation is closed. Gives the locks that this process has.
    pub(crate) fn close(&self) -> Option<Held> {
        self.next_attempt();
        self.set(Holder::Free)
    }

    fn next_attempt(&self) -> u64 {
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
        self.attempts.begin()
    }

    /// Notes who holds it. Gives the locks that are no longer noted here: dropping them may wait for the disk.
    pub(crate) fn set(&self, holder: Holder) -> Option<Held> {
        match mem::replace(&mut *self.holder.borrow_mut(), holder) {
            Holder::This(held) => Some(held),
            Holder::Free | Holder::Unknown | Holder::Other(_) => None,
        }
    }

    /// Whether the conversation was taken over from this process, or another one holds it.
    pub(crate) fn is_barred(&self) -> bool {
        self.is_lost.get() || matches!(*self.holder.borrow(), Holder::Other(_))
    }

    /// The file's name, without its folder.
    pub(crate) fn name(&self) -> String {
        Path::new(&*self.path.borrow()).file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&*self.path.borrow())
    }

    /// The number of the attempt, if this process holds the file of this name.
    pub(crate) fn held_as(&self, path: &str) -> Option<u64> {
        let is_held = *self.path.borrow() == path && matches!(*self.holder.borrow(), Holder::This(_));
        is_held.then(|| self.attempts.current())
    }

    /// The locks of this process.
    pub(crate) fn held(&self) -> Option<Held> {
        match &*self.holder.borrow() {
            Holder::This(held) => Some(held.clone()),
            Holder::Free | Holder::Unknown | Holder::Other(_) => None,
        }
    }

    /// Whether it is known or being found out who holds the file of this name.
    pub(crate) fn is_about(&self, path: &str) -> bool {
        *self.path.borrow() == path && (path.is_empty() || !matches!(*self.holder.borrow(), Holder::Free))
    }

    /// Whether nobody else can hold the conversation now.
    pub(crate) fn is_here(&self) -> bool {
        matches!(*self.holder.borrow(), Holder::Free | Holder::This(_))
    }

    /// Who else holds the conversation; `None` if nobody does.
    pub(crate) fn other(&self) -> Option<OtherHolder> {
        match &*self.holder.borrow() {
            Holder::Other(other) => Some(other.clone()),
            Holder::Free | Holder::Unknown | Holder::This(_) => None,
        }
    }

    /// What is known of a call that runs as its block says, and not in this buffer: a word, and a sentence for the user.
    pub(crate) fn of_running(&self) -> (&'static str, String) {
        match &*self.holder.borrow() {
            Holder::Other(other) => ("running", format!("this call runs {}", other.place())),
            Holder::Unknown => {
                ("running?", "it is being found out whether this call runs in another Neovim".to_owned())
            }
            Holder::Free | Holder::This(_) => {
                ("stopped", "this call is no longer running; Ctrl-] asks what to do with it".to_owned())
            }
        }
    }

    /// Who holds it, in words, if that is not this buffer.
    pub(crate) fn elsewhere(&self) -> Option<String> {
        self.other().map(|other| other.place())
    }
}

/// The locks of this process.
#[derive(Default)]
pub(crate) struct Locks {
    /// Where those of this user are.
    pub(crate) folder: PathBuf,
    /// Those of each buffer.
    pub(crate) buffers: RefCell<BTreeMap<i32, BufferLocks>>,
    /// Those of buffers that were just closed or renamed. A buffer that is opened again at once, as by `:edit!`, goes on
    /// with its own, so that nobody else gets in between.
    leaving: RefCell<Vec<Held>>,
    /// The buffers that were just closed, and the names of their files, of which the user was told that they are held
    /// elsewhere. One that is opened at once needs no second message.
    told: RefCell<Vec<(i32, PathBuf)>>,
    /// Whether the editor is about to exit. Who makes a lock again keeps this locked meanwhile.
    pub(crate) is_closing: Arc<Mutex<bool>>,
}

impl Locks {
    /// Locks in `folder`, which need not be there.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// The conversation of a buffer was closed.
    pub(crate) fn leave(&self, buffer: i32, holding: &Holding) {
        if holding.is_told.take() {
            self.told.borrow_mut().push((buffer, holding.path()));
        }
        self.keep(holding.close());
    }

    /// Keeps these locks until what happens now is over.
    pub(crate) fn keep(&self, held: Option<Held>) {
        self.leaving.borrow_mut().extend(held);
    }

    /// Those of a buffer. `host` says where this process listens.
    pub(crate) fn of(&self, buffer: i32, host: &dyn Host) -> BufferLocks {
        if let Some(locks) = self.buffers.borrow().get(&buffer) {
            return locks.clone();
        }
        let locks = BufferLocks::new(host.server().as_deref());
        self.buffers.borrow_mut().entry(buffer).or_insert(locks).clone()
    }

    /// What happened is over. Gives the locks that nobody needed.
    pub(crate) fn left(&self) -> Vec<Held> {
        self.told.take();
        self.buffers.borrow_mut().retain(|_, locks| locks.is_used());
        self.leaving.take()
    }

    /// Whether this buffer was just closed, and the user knows that the file of this name is held elsewhere.
    pub(crate) fn was_told(&self, buffer: i32, path: &Path) -> bool {
        self.told.borrow().iter().any(|(other, file)| *other == buffer && file == path)
    }
}
