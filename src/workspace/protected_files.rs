//! Files that no tool writes to: the conversations that are open, their locks, and the trust store.

use std::{ffi::OsStr, fs, os::unix::fs::MetadataExt, path::Path, path::PathBuf};

use super::Workspace;
use crate::{
    model::ModelError,
    tools::{own_files::LOCK, paths::real},
};

impl Workspace {
    /// Whether a tool may write to a file. The disk is waited for for a moment only, and without its answer no file may be written.
    #[must_use]
    pub fn is_writable(&self, path: &Path) -> bool {
        let (open, store) = (self.host().open_conversations(), self.trust_store().path().to_owned());
        let file = path.to_owned();
        self.promptly(path, move || protected(&file, &open, &store).is_none()).unwrap_or(false)
    }
}

/// Why no tool writes to a file, if so: it is an open conversation, a lock, or the trust store, by whatever name. It looks at the
/// disk.
pub(super) fn protected(path: &Path, open: &[PathBuf], trust_store: &Path) -> Option<ModelError> {
    let found = real(path);
    // A hard link is another name of the same file.
    let is_same =
        |other: &Path| real(other) == found || identity(&found).is_some_and(|own| identity(other) == Some(own));
    if is_same(trust_store) {
        return Some(ModelError::new(format!("{} records what the user trusts", found.display())));
    }
    if found.file_name().is_some_and(is_lock) {
        return Some(ModelError::new(format!("{} says who has a conversation open", found.display())));
    }
    let chat = open.iter().find(|chat| is_same(chat))?;
    Some(ModelError::new(if real(chat) == found {
        format!("{} is a conversation that is open in the editor", found.display())
    } else {
        let (found, chat) = (found.display(), chat.display());
        format!("{found} is the same file as {chat}, a conversation that is open in the editor")
    }))
}

/// Whether a file of this name is the lock of a conversation.
fn is_lock(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(LOCK.as_bytes())
}

/// What a file is, by whatever name; `None` if there is none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
