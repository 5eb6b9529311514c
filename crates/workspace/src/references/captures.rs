//! The references of one conversation that are being captured: see [`crate::capturing`].

use std::cell::RefCell;

use crate::{
    generation::Generation,
    references::captured_text::{CapturedText, Outcome},
};
use flemma_chat::{Capture, Uncaptured};
use flemma_model::UserError;

/// What the user should know, each with its line; or the first reference that cannot be captured, with the reason.
pub(crate) type Finished = Result<Vec<(usize, String)>, Box<(Uncaptured, UserError)>>;

/// What is known of the references in the user's last message.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Tells this time from every earlier one.
    number: Generation,
    /// What is being captured.
    wanted: RefCell<Vec<Uncaptured>>,
    /// What was captured, until it is written.
    pub(crate) ready: RefCell<Vec<Capture>>,
    /// Why references were not captured the last time, by how they are written.
    pub(crate) problems: RefCell<Vec<(String, UserError)>>,
}

impl Captures {
    /// These are captured from now on. Gives the number of this time; what was under way before no longer counts.
    pub(crate) fn begin(&self, wanted: Vec<Uncaptured>) -> u64 {
        self.ready.take();
        self.problems.take();
        self.wanted.replace(wanted);
        self.number.begin()
    }

    /// What is captured at this time; `None` if that is over.
    pub(crate) fn wanted(&self, number: u64) -> Option<Vec<Uncaptured>> {
        self.number.is_current(number).then(|| self.wanted.borrow().clone())
    }

    /// It is known what each reference means; `None` for a file that is attached instead. Gives what the user should know, each with
    /// its line, or the first reference that cannot be captured, with the reason. `None` at a time that is over.
    pub(crate) fn finish(&self, number: u64, outcomes: Vec<Outcome>) -> Option<Finished> {
        let wanted = self.wanted(number)?;
        self.wanted.take();
        let (mut first, mut warnings) = (None, Vec::new());
        for (wanted, outcome) in wanted.into_iter().zip(outcomes) {
            match outcome {
                Ok(None) => {}
                Ok(Some(CapturedText { content, cut, warnings: found })) => {
                    let Uncaptured { line, written, .. } = wanted;
                    warnings.extend(found.into_iter().map(|words| (line, format!("{written}: {words}"))));
                    self.ready.borrow_mut().push(Capture { line, written, content, cut });
                }
                Err(problem) => {
                    self.problems.borrow_mut().push((wanted.written.clone(), problem.clone()));
                    first.get_or_insert((wanted, problem));
                }
            }
        }
        Some(first.map_or(Ok(warnings), |first| {
            self.ready.take();
            Err(Box::new(first))
        }))
    }

    /// Why a reference was not captured the last time.
    pub(crate) fn problem(&self, written: &str) -> Option<UserError> {
        let problems = self.problems.borrow();
        problems.iter().find(|(other, _)| other == written).map(|(_, problem)| problem.clone())
    }
}
