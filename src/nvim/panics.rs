//! Panics: what is left of them for the user and for us.

use std::{cell::RefCell, panic};

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps a panic's words from being printed over the screen, where Rust would put them.
pub(super) fn keep_off_the_screen() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("a panic");
        LAST.with_borrow_mut(|last| *last = Some(format!("{words}{place}")));
    }));
}

/// What the last panic on this thread said, and where it was.
pub(super) fn last() -> Option<String> {
    LAST.take()
}
