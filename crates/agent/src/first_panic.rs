//! A panic that is passed on when everything else is done.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// The first panic of several.
#[derive(Default)]
pub(super) struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// Runs `work`. Returns whether it completed without a panic.
    pub(super) fn catch(&mut self, work: impl FnOnce()) -> bool {
        // A panic may leave only the document half changed, and the document is read again.
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(()) => true,
            Err(panic) => {
                self.0.get_or_insert(panic);
                false
            }
        }
    }

    /// Panics again, if there was one.
    pub(super) fn resume(self) {
        if let Some(panic) = self.0 {
            resume_unwind(panic);
        }
    }
}
