//! Wakes the main thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use mlua::Function;
use nvim_oxi::libuv::AsyncHandle;

/// Brings the main thread to drain the queue. May be used from any thread; calls coalesce.
#[derive(Clone)]
pub(super) struct Waker(Arc<AsyncHandle>);

impl Waker {
    /// A waker that has the effect `wake` performed on the main thread, in a callback of libuv's: all that may be done there is
    /// to schedule.
    pub(super) fn new(perform: Function) -> Result<Self, nvim_oxi::libuv::Error> {
        let handle = AsyncHandle::new(move || {
            // A panic here would unwind into libuv, and an error would be swallowed there: neither leaves.
            let called = catch_unwind(AssertUnwindSafe(|| perform.call::<()>("wake")));
            if !matches!(called, Ok(Ok(()))) {
                eprintln!("Flemma: the main thread could not be woken");
            }
            Ok::<_, std::convert::Infallible>(())
        })?;
        Ok(Self(Arc::new(handle)))
    }

    /// Wakes the main thread.
    pub(super) fn wake(&self) {
        // Fails only once the loop is closed, and then nobody is left to wake.
        let _ = self.0.send();
    }
}
