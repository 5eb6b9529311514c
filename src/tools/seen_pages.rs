//! What a call that runs has read of the notes.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Content;
use crate::model::{Digest, ModelError};

/// The pages that a tool in Lua has read, each with the content that it had; `None` for one that did not exist. A tool writes the whole of a
/// page, so that it must not write one that has changed since.
#[derive(Debug, Default)]
pub struct SeenPages(Mutex<HashMap<String, Option<Digest>>>);

impl SeenPages {
    /// The call has read a page, or written it.
    pub fn note(&self, page: &str, content: Option<&[u8]>) {
        self.pages().insert(page.to_owned(), content.map(Digest::of));
    }

    /// What the call has read of a page does not count any more.
    pub fn forget(&self, page: &str) {
        self.pages().remove(page);
    }

    /// # Errors
    /// If the call has read the page, and it has another content now.
    pub fn check(&self, page: &str, found: Option<&Content>) -> Result<(), ModelError> {
        match self.pages().get(page) {
            Some(seen) if seen.as_ref() != found.map(|content| &content.digest) => Err(ModelError::new(format!(
                "`{page}` has changed since this call read it, so nothing was written to it. Call the tool again."
            ))),
            _ => Ok(()),
        }
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<String, Option<Digest>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
