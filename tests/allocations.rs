//! How much memory is taken, where that must follow what is kept and not what is looked at.
//!
//! The allocator counts for each thread by itself, so that tests do not disturb each other.

#![allow(unsafe_code, reason = "an allocator is unsafe by its nature")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use flemma::text::truncate::{Limits, MAX_BYTES, truncate_head, truncate_tail};

struct Counting;

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + layout.size());
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that some work takes in all.
fn taken(work: impl FnOnce()) -> usize {
    let before = TAKEN.get();
    work();
    TAKEN.get() - before
}

#[test]
fn truncation_takes_no_memory_but_for_what_it_keeps() {
    let text = "0123456789 0123456789 0123456789 abcdef\n".repeat(1 << 18);
    let mut bytes = text.clone().into_bytes();
    // No UTF-8 anywhere: what is kept has to be copied.
    bytes.iter_mut().step_by(40).for_each(|byte| *byte = 0xFF);
    let limits = Limits::default();
    let of_text = taken(|| {
        assert_eq!(truncate_head(&text, limits).total_lines, 1 << 18);
        assert_eq!(truncate_tail(&text, limits).total_lines, 1 << 18);
    });
    assert_eq!(of_text, 0);
    let of_bytes = taken(|| {
        assert!(truncate_head(&bytes, limits).content.starts_with('\u{fffd}'));
        assert!(truncate_tail(&bytes, limits).content.starts_with('\u{fffd}'));
    });
    assert!(of_bytes < 10 * MAX_BYTES, "{of_bytes} bytes were taken for what is kept of {}", bytes.len());
}
