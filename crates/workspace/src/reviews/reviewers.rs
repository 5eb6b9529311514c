//! Who wants to look at what calls would write, and waits until that is found out.

use std::{cell::RefCell, sync::Arc};

use crate::reviews::ready::Ready;
use flemma_journal::CallKey;
use flemma_model::UserError;
use flemma_runtime::ConversationId;

/// What is done with it, with the workspace (`W`).
pub(crate) type Reviewer<W> = Box<dyn FnOnce(&W, Result<Arc<Ready>, UserError>)>;

/// Those who wait.
pub(crate) struct Reviewers<W>(RefCell<Vec<(ConversationId, CallKey, Reviewer<W>)>>);

impl<W> Default for Reviewers<W> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<W> Reviewers<W> {
    /// Waits for what a call would write.
    pub(crate) fn wait(&self, conversation: ConversationId, key: CallKey, reviewer: Reviewer<W>) {
        self.0.borrow_mut().push((conversation, key, reviewer));
    }

    /// Takes those that wait for a call.
    pub(crate) fn take(&self, conversation: ConversationId, key: &CallKey) -> Vec<Reviewer<W>> {
        self.take_if(|of, other| of == conversation && other == key)
    }

    /// Takes those that wait for other calls of a conversation than these.
    pub(crate) fn take_others(&self, conversation: ConversationId, keys: &[CallKey]) -> Vec<Reviewer<W>> {
        self.take_if(|of, other| of == conversation && !keys.contains(other))
    }

    fn take_if(&self, is_wanted: impl Fn(ConversationId, &CallKey) -> bool) -> Vec<Reviewer<W>> {
        let mut all = self.0.borrow_mut();
        let taken = all.extract_if(.., |(of, key, _)| is_wanted(*of, key));
        taken.map(|(_, _, reviewer)| reviewer).collect()
    }
}
