//! What an earlier run of a call has done, which was interrupted or has failed halfway: the call goes on from there.

use super::{super::report::named, space::Space};
use crate::LeftBefore;
use flemma_journal::changes::FileState;
use flemma_model::{Digest, ModelError};
use flemma_notes::PageName;

/// The maximum number of pages that a sentence names.
const MAX_NAMED: usize = 20;

/// What an earlier run has left in pages.
pub(super) struct EarlierRun {
    left: LeftBefore,
    done: Vec<String>,
    changed_since: Vec<String>,
    by_others: Vec<String>,
}

impl EarlierRun {
    /// What earlier runs of a call that moves `page` have done.
    ///
    /// # Errors
    /// If the page must not be read.
    pub(super) fn of_move(space: &Space<'_>, page: &PageName) -> Result<Self, ModelError> {
        let mut left = space.left_before();
        let is_gone = left.same.get(&space.real(page)?) == Some(&FileState::Absent);
        // A call that has moved it was complete. If the page is there again, it is another one.
        if is_gone && space.is_taken(page)? {
            left.same.clear();
        }
        Ok(Self { left, done: Vec::new(), changed_since: Vec::new(), by_others: Vec::new() })
    }

    /// Whether an earlier run has taken a page away.
    ///
    /// # Errors
    /// If the page must not be read.
    pub(super) fn has_removed(&self, space: &Space<'_>, page: &PageName) -> Result<bool, ModelError> {
        Ok(self.left.same.get(&space.real(page)?) == Some(&FileState::Absent))
    }

    /// Whether a page has this content from an earlier run.
    ///
    /// # Errors
    /// If the page must not be read.
    pub(super) fn has_left(&self, space: &Space<'_>, page: &PageName, content: &[u8]) -> Result<bool, ModelError> {
        let left = self.left.same.get(&space.real(page)?);
        Ok(left.and_then(FileState::digest).is_some_and(|left| *left == Digest::of(content)))
    }

    /// The same, for the result: it says which pages an earlier run has changed, which of them somebody has changed since, and which
    /// pages another call has left half done.
    ///
    /// # Errors
    /// If the page must not be read.
    pub(super) fn look_at(&mut self, space: &Space<'_>, page: &PageName, content: &[u8]) -> Result<bool, ModelError> {
        let (is_done, path) = (self.has_left(space, page, content)?, space.real(page)?);
        let of_other = self.left.others.get(&path).and_then(FileState::digest);
        if of_other.is_some_and(|left| *left == Digest::of(content)) {
            self.by_others.push(format!("`{page}`"));
        }
        if is_done {
            self.done.push(format!("`{page}`"));
        } else if matches!(self.left.same.get(&path), Some(FileState::File { .. })) {
            self.changed_since.push(format!("`{page}`"));
        }
        Ok(is_done)
    }

    /// What the result says of it; empty if there was no such run.
    pub(super) fn note(&self) -> String {
        let of_this = "An earlier run of this call, which did not finish, had changed";
        let since = "too, and somebody has changed them since. Links there were taken as they are now; look at them]";
        let of_other = ", and has not moved its page. Links there may lead to the name that it was to get]";
        let told = [
            (&self.done, format!(" {of_this} "), ".".to_owned()),
            (&self.changed_since, format!("\n\n[{of_this} "), format!(" {since}")),
            (&self.by_others, "\n\n[Another call of this tool has changed ".to_owned(), of_other.to_owned()),
        ];
        let told = told.iter().filter(|(pages, ..)| !pages.is_empty());
        told.map(|(pages, before, after)| format!("{before}{}{after}", named(pages, MAX_NAMED))).collect()
    }
}
