//! What waits until the conversation in a buffer is read and it is known who holds it.

use std::{cell::RefCell, time::Instant};

/// What waits, in its order.
pub(crate) struct Unsettled<W>(RefCell<Vec<Waiting<W>>>);

/// Something that is done then, or at the latest `until`.
pub(crate) struct Waiting<W> {
    pub(crate) buffer: i32,
    pub(crate) until: Instant,
    pub(crate) then: Box<dyn FnOnce(&W)>,
}

impl<W> Default for Unsettled<W> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<W> Unsettled<W> {
    pub(crate) fn push(&self, waiting: Waiting<W>) {
        self.0.borrow_mut().push(waiting);
    }

    /// Takes what waits no longer.
    pub(crate) fn take(&self, is_settled: impl Fn(i32) -> bool) -> Vec<Waiting<W>> {
        let now = Instant::now();
        let mut waiting = self.0.borrow_mut();
        waiting.extract_if(.., |waiting| now >= waiting.until || is_settled(waiting.buffer)).collect()
    }
}
