//! What the user has trusted, in memory and on the disk. See [`flemma_runtime::trust`] for the file.

use std::{
    cell::{Cell, RefCell},
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::{Conversation, background::Background, event::LoopEvent, options::effective::Source, shared::Shared};
use flemma_agent::Level;
use flemma_runtime::trust::{self, Trusted};

/// The trust store.
pub struct TrustStore {
    pub(crate) shared: Rc<Shared>,
    pub(crate) background: Background<Self>,
    pub(crate) path: PathBuf,
    /// `None` until it was read.
    pub(crate) trusted: RefCell<Option<Trusted>>,
    pub(crate) is_reading: Cell<bool>,
    /// Whether the user was told that it cannot be written.
    pub(crate) is_told: Cell<bool>,
}

impl TrustStore {
    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has been read.
    pub(crate) fn is_read(&self) -> bool {
        self.trusted.borrow().is_some()
    }

    /// Whether this frontmatter is trusted in the conversation at `path`.
    pub(crate) fn contains(&self, path: &str, code: &str) -> bool {
        self.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains(path, code))
    }

    /// Whether the conversation at `path` may show `file`.
    pub(crate) fn contains_file(&self, path: &str, file: &Path) -> bool {
        self.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains_file(path, file))
    }

    /// Says whether it is to be read now: it has not been, and nobody is at it.
    pub(crate) fn begin_reading(&self) -> bool {
        !self.is_read() && !self.is_reading.replace(true)
    }

    /// Takes what was read, unless it was read before.
    pub(crate) fn take(&self, trusted: Trusted) {
        self.trusted.borrow_mut().get_or_insert(trusted);
    }

    /// Says whether this is the first time that the user is told that it cannot be written.
    pub(crate) fn begin_telling(&self) -> bool {
        !self.is_told.replace(true)
    }

    /// Trusts something. Says whether that is news for the file: while it has not been read, everything is.
    pub(crate) fn insert(&self, insert: impl FnOnce(&mut Trusted) -> bool) -> bool {
        self.trusted.borrow_mut().as_mut().is_none_or(insert)
    }

    /// Whether the user trusts this frontmatter: they wrote all of it in this session, or they said so before.
    pub(crate) fn trusts(&self, conversation: &Conversation, source: &Source) -> bool {
        if conversation.page.is_by_user(source.lines()) {
            return true;
        }
        let is_trusted = self.contains(&self.shared.place(conversation).file, &source.code);
        if is_trusted {
            // From here on it is the user's to change.
            conversation.page.adopt(source.lines());
        }
        is_trusted
    }

    /// The user takes the frontmatter as their own.
    pub(crate) fn adopt_frontmatter(&self, conversation: &Conversation) {
        if let Some(source) = conversation.page.frontmatter() {
            conversation.page.adopt(source.lines());
        }
    }

    /// What is trusted here stays so, for the file of this name: it was saved there, or the user just said so.
    pub(crate) fn keep_frontmatter(&self, conversation: &Conversation, path: String) {
        let Some(source) = conversation.page.frontmatter() else { return };
        if !path.is_empty() && self.trusts(conversation, &source) {
            self.keep_trusted(path, source.code);
        }
    }

    /// Reads the store, away from the main thread, once. The wishes that wait for it go on then.
    pub(crate) fn read_trust_store(&self) {
        let store = self;
        if !store.begin_reading() {
            return;
        }
        let path = store.path().to_owned();
        // A store that cannot be read trusts nothing.
        let read = move || Trusted::read(&path).unwrap_or_default();
        if self.background.run(read, Self::trust_store_was_read).is_err() {
            self.trust_store_was_read(Trusted::default());
        }
    }

    fn trust_store_was_read(&self, trusted: Trusted) {
        self.take(trusted);
        for conversation in self.shared.conversations.all() {
            let wanted = conversation.gate().store_was_read();
            if let Some(wish) = wanted {
                self.shared.tell(LoopEvent::WantAlone(&conversation, wish));
            }
        }
    }

    /// Trusts the frontmatter of the conversation at `path` from now on, in later sessions too.
    pub(crate) fn keep_trusted(&self, path: String, code: String) {
        if self.insert(|trusted| trusted.insert(&path, &code)) {
            self.write_trust_store(move |store| trust::append(store, &path, &code));
        }
    }

    /// Lets the conversation at `path` show a file from now on, in later sessions too.
    pub(crate) fn keep_trusted_file(&self, path: &str, file: PathBuf) {
        let is_news = self.insert(|trusted| trusted.insert_file(path, &file));
        if is_news && !path.is_empty() {
            let path = path.to_owned();
            self.write_trust_store(move |store| trust::append_file(store, &path, &file));
        }
    }

    fn write_trust_store(&self, write: impl FnOnce(&Path) -> io::Result<()> + Send + 'static) {
        let store = self.path().to_owned();
        let write = move || write(&store);
        let then = |this: &Self, written: io::Result<()>| {
            if let Err(error) = written {
                this.trust_was_not_kept(&error);
            }
        };
        if let Err(error) = self.background.run(write, then) {
            self.trust_was_not_kept(&error);
        }
    }

    /// Tells the user that the trust store could not be written; the log has every case.
    fn trust_was_not_kept(&self, error: &io::Error) {
        let store = self.path().display();
        let message = format!("the trust store {store} could not be written ({error}); the next session asks again");
        self.shared.log(Level::Warn, &message);
        if self.begin_telling() {
            self.shared.host.notify(Level::Warn, &message);
        }
    }
}
