//! What the user has trusted, in memory and on the disk. See [`flemma_runtime::trust`] for the file.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{Conversation, components::TrustStore, event::LoopEvent, trust::FrontmatterCode};
use flemma_agent::Level;
use flemma_runtime::trust::{self, Trusted};

impl TrustStore {
    /// Whether it has been read.
    pub(crate) fn is_read(&self) -> bool {
        self.trusted.borrow().is_some()
    }

    /// Whether the conversation at `path` may show `file`.
    pub(crate) fn contains_file(&self, path: &str, file: &Path) -> bool {
        self.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains_file(path, file))
    }

    /// Whether the user trusts this frontmatter: they wrote all of it in this session, or they said so before.
    pub(crate) fn trusts(&self, conversation: &Conversation, source: &FrontmatterCode) -> bool {
        if conversation.page.is_by_user(source.lines()) {
            return true;
        }
        let path = self.shared.place(conversation).file;
        let is_trusted = self.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains(&path, &source.code));
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

    /// What is trusted here stays so, for the file of this name, in later sessions too: it was saved there, or the user just said so.
    pub(crate) fn keep_frontmatter(&self, conversation: &Conversation, path: String) {
        let Some(source) = conversation.page.frontmatter() else { return };
        if !path.is_empty()
            && self.trusts(conversation, &source)
            && self.insert(|trusted| trusted.insert(&path, &source.code))
        {
            self.write(move |store| trust::append(store, &path, &source.code));
        }
    }

    /// Lets the conversation at `path` show a file from now on, in later sessions too.
    pub(crate) fn keep_trusted_file(&self, path: &str, file: PathBuf) {
        let is_news = self.insert(|trusted| trusted.insert_file(path, &file));
        if is_news && !path.is_empty() {
            let path = path.to_owned();
            self.write(move |store| trust::append_file(store, &path, &file));
        }
    }

    /// Whether the user trusts this text in the instructions of a project.
    pub(crate) fn contains_instructions(&self, path: &Path, text: &str) -> bool {
        let trusted = self.trusted.borrow();
        trusted.as_ref().is_some_and(|trusted| trusted.contains_instructions(&path.to_string_lossy(), text))
    }

    /// The digests of what the user has trusted in files with instructions.
    pub(crate) fn instructions(&self) -> Arc<HashMap<String, String>> {
        self.trusted.borrow().as_ref().map(|trusted| Arc::clone(trusted.instructions())).unwrap_or_default()
    }

    /// Whether the user has trusted a file with instructions before.
    pub(crate) fn knows_instructions(&self, path: &Path) -> bool {
        self.digest_of(path).is_some()
    }

    /// The file that has what was trusted before.
    pub(crate) fn instructions_before(&self, path: &Path) -> Option<PathBuf> {
        self.digest_of(path).map(|digest| trust::kept_instructions(&self.path, &digest))
    }

    fn digest_of(&self, path: &Path) -> Option<String> {
        self.trusted.borrow().as_ref()?.instructions().get(&*path.to_string_lossy()).cloned()
    }

    /// Trusts these texts in files with instructions from now on.
    pub(crate) fn keep_instructions(&self, files: Vec<(PathBuf, String)>) {
        let is_news = |(path, text): &(PathBuf, String)| {
            self.insert(|trusted| trusted.insert_instructions(&path.to_string_lossy(), text))
        };
        let news: Vec<_> = files.into_iter().filter(is_news).collect();
        self.write(move |store| {
            news.iter().try_for_each(|(path, text)| trust::append_instructions(store, &path.to_string_lossy(), text))
        });
    }

    /// Trusts something. Says whether that is news for the file: while it has not been read, everything is.
    fn insert(&self, insert: impl FnOnce(&mut Trusted) -> bool) -> bool {
        self.trusted.borrow_mut().as_mut().is_none_or(insert)
    }

    /// Reads the store, away from the main thread, once. The wishes that wait for it go on then.
    pub(crate) fn read_trust_store(&self) {
        if self.is_read() || self.is_reading.replace(true) {
            return;
        }
        let path = self.path.clone();
        // A store that cannot be read trusts nothing.
        self.background.run(move || Trusted::read(&path).unwrap_or_default(), Self::was_read);
    }

    fn was_read(&self, trusted: Trusted) {
        self.trusted.borrow_mut().get_or_insert(trusted);
        for conversation in self.shared.conversations.all() {
            let wanted = conversation.gate.borrow_mut().store_was_read();
            if let Some(wish) = wanted {
                self.shared.tell(LoopEvent::WantAlone(&conversation, wish));
            }
        }
    }

    /// Writes to the file. If that fails, the user is told once, and the log has every case.
    fn write(&self, write: impl FnOnce(&Path) -> io::Result<()> + Send + 'static) {
        let store = self.path.clone();
        self.background.run(
            move || write(&store),
            |this: &Self, written| {
                let Err(error) = written else { return };
                let store = this.path.display();
                let message =
                    format!("the trust store {store} could not be written ({error}); the next session asks again");
                this.shared.log(Level::Warn, &message);
                if !this.is_told.replace(true) {
                    this.shared.host.notify(Level::Warn, &message);
                }
            },
        );
    }
}
