//! Judging calls: what the policies say of those that are new, and of those that somebody has approved, right before they start.
//!
//! A verdict may need the disk, so it is an input that comes when it is known. One effect at a time has calls judged, in the order in
//! which they came, and what is decided meanwhile is judged by the next one. A verdict on a call that is another one by now does not
//! count.

use super::Input;
use flemma_model::CallId;

/// The calls that are being judged.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// The number of the last effect.
    pub(super) number: u64,
    /// The calls that it is about, until their verdicts are there.
    pub(super) asked: Vec<CallId>,
    /// Whether only calls of a file that was opened are being judged. What the user wants meanwhile comes after that.
    pub(super) is_recovery: bool,
    /// That.
    pub(super) held: Vec<Input>,
}

impl Judgement {
    /// The most calls that one effect has judged.
    pub(super) const MOST: usize = 8;

    /// Whether a verdict is waited for.
    pub(super) fn is_open(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether the verdicts of this effect are waited for.
    pub(super) fn is_open_for(&self, number: u64) -> bool {
        self.is_open() && self.number == number
    }

    /// What comes for the last effect does not count any more, and what was held back is not done.
    pub(super) fn forgotten(self) -> Self {
        Self { number: self.number, ..Self::default() }
    }

    /// Whether an input waits until the calls of a file that was opened are judged.
    pub(super) fn holds_back(&self, input: &Input) -> bool {
        self.is_recovery
            && matches!(
                input,
                Input::Advance
                    | Input::CarryOn
                    | Input::Execute(_)
                    | Input::Decide(..)
                    | Input::Outbox
                    | Input::Released
                    | Input::PutDown
                    | Input::Recover(_)
            )
    }
}
