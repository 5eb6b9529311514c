//! The latest output of a running tool.

use std::sync::{Arc, Mutex, PoisonError};

/// The latest output of a running tool. The tool puts it here, and it is read when the screen is drawn, so that a tool
/// that prints a lot costs no more than one that does not.
#[derive(Clone, Debug, Default)]
pub struct LatestOutput(Arc<Mutex<String>>);

/// How much of a tool's latest output is kept.
const LATEST_LINES: usize = 5;
const LATEST_BYTES: usize = 2048;

impl LatestOutput {
    /// Puts the end of `text` in the place of what was there; `…` where that begins in the middle of a line.
    pub fn put(&self, text: &str) {
        let text = text.trim_end_matches('\n');
        let from = text.rmatch_indices('\n').nth(LATEST_LINES - 1).map_or(0, |(at, _)| at + 1);
        let room = text.ceil_char_boundary(text.len().saturating_sub(LATEST_BYTES));
        let is_cut = room > from && !text[..room].ends_with('\n');
        let from = from.max(room);
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clear();
        latest.push_str(if is_cut { "…" } else { "" });
        latest.push_str(&text[from..]);
    }

    /// The lines.
    #[must_use]
    pub fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
