//! What a call that runs has read of the notes.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::{Content, lock};
use flemma_journal::Before;
use flemma_model::{Digest, ModelError};

/// The pages that a tool in Lua has read, each with the content that it had. A tool writes the whole of a page, so that it must not
/// write one that has changed since. A page may have several names: it is known by its file, with links resolved.
#[derive(Debug, Default)]
pub struct SeenPages(Mutex<HashMap<PathBuf, Option<Digest>>>);

impl SeenPages {
    /// The call has read the page in a file, or written it; `None` if there was none.
    pub fn note(&self, file: &Path, content: Option<&[u8]>) {
        self.note_digest(file, content.map(Digest::of));
    }

    /// The same for a content with this digest.
    pub fn note_digest(&self, file: &Path, content: Option<Digest>) {
        lock(&self.0).insert(file.to_owned(), content);
    }

    /// What the call has read of the page in a file does not count any more.
    pub fn forget(&self, file: &Path) {
        lock(&self.0).remove(file);
    }

    /// What the call knows of a file.
    pub fn known(&self, file: &Path) -> Before {
        match lock(&self.0).get(file) {
            None => Before::Unknown,
            Some(None) => Before::Absent,
            Some(Some(digest)) => Before::Content(digest.as_str().to_owned()),
        }
    }

    /// # Errors
    /// If the call has read the page in a file, and that has another content now.
    pub fn check(&self, file: &Path, page: &str, found: Option<&Content>) -> Result<(), ModelError> {
        let is_same = self.known(file).admits(found.map(|content| &content.digest));
        if is_same { Ok(()) } else { Err(Self::changed(page)) }
    }

    /// Why a page is not written that a call knew with another content.
    pub fn changed(page: &str) -> ModelError {
        let words = "has changed since this call read it, so nothing was written to it. Call the tool again.";
        ModelError::new(format!("`{page}` {words}"))
    }
}
