//! The question that the user was asked last about a conversation. Only its answer counts: an earlier question may still be
//! on the screen, and be about a text that has changed since.

use std::cell::Cell;

use crate::ports::Question;

/// What a question was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionSubject {
    Frontmatter,
    Files,
}

impl From<&Question> for QuestionSubject {
    fn from(question: &Question) -> Self {
        match question {
            Question::Frontmatter { .. } => Self::Frontmatter,
            Question::Files { .. } => Self::Files,
        }
    }
}

/// The questions of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    last: Cell<u64>,
    open: Cell<Option<QuestionSubject>>,
}

impl Questions {
    /// A question is asked. Gives its number; no earlier one can be answered any more.
    pub(crate) fn begin(&self, question: &Question) -> u64 {
        self.last.set(self.last.get() + 1);
        self.open.set(Some(question.into()));
        self.last.get()
    }

    /// The question of this number is answered. Gives what it was about; `None` if it was answered before, or another one
    /// was asked since.
    pub(crate) fn take(&self, number: u64) -> Option<QuestionSubject> {
        if number == self.last.get() { self.open.take() } else { None }
    }
}
