//! How much memory is taken, where that must follow what is kept and not what is looked at.
//!
//! The allocator counts for each thread by itself, so that tests do not disturb each other.

#![allow(unsafe_code, reason = "an allocator is unsafe by its nature")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use flemma_chat::read;
use flemma_config::Config;
use flemma_text::truncate::{Limits, MAX_BYTES, truncate_head, truncate_tail};
use flemma_tools::RetentionRules;
use serde_json::json;

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

/// A conversation in which each of 100 messages has a result that is left out, and one of this size that is kept.
fn with_results(bytes: usize) -> String {
    let output = "0123456789\n".repeat(bytes / 11);
    let exchange = |n: usize| {
        let call = |tool: &str| format!("**Tool Use:** `{tool}` (`{tool}_{n}`)\n\n```json\n{{}}\n```\n\n");
        let result = |tool: &str| format!("**Tool Result:** `{tool}_{n}`\n\n```\n{output}```\n\n");
        let (calls, results) = (call("bash") + &call("read"), result("bash") + &result("read"));
        format!("@You:\nGo\n\n@Assistant:\n{calls}@You:\n{results}@Assistant:\nDone\n\n")
    };
    (0..100).map(exchange).collect::<String>() + "@You:\nNext\n"
}

#[test]
fn leaving_out_results_takes_no_memory_for_those_that_stay() {
    let tools =
        json!({ "retention": { "never_evict": true }, "bash": { "retention": { "mode": "count", "value": 1 } } });
    let config = Config::from_layers(&[json!({ "tools": tools })]).unwrap();
    let rules = RetentionRules::new(&config.tools, []);
    let [small, large] = [2_000, 50_000].map(|bytes| {
        let mut messages = read(&with_results(bytes)).unwrap().messages;
        let whole = messages.clone();
        let taken = taken(|| rules.apply(&mut messages));
        assert_eq!(messages.iter().zip(&whole).filter(|(sent, whole)| sent != whole).count(), 99);
        taken
    });
    assert!(large < small + 10_000, "{large} bytes were taken for long results, and {small} for short ones");
    let nothing = RetentionRules::new(&Config::default().tools, []);
    let mut messages = read(&with_results(2_000)).unwrap().messages;
    assert_eq!(taken(|| nothing.apply(&mut messages)), 0);
}
