//! How many lines a change adds and removes.

use std::time::Duration;

use flemma_text::diff::diff;

/// How long counting the changed lines may take.
const TIME: Duration = Duration::from_millis(20);

/// The maximum number of bytes whose changed lines are counted.
const MAX_BYTES: usize = 1024 * 1024;

/// How many lines a change adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that are added.
    pub added: usize,
    /// Lines that are removed.
    pub removed: usize,
}

impl LineCounts {
    /// The lines that differ between two texts; `None` if they are too long to compare.
    #[must_use]
    pub fn between(old: &str, new: &str) -> Option<Self> {
        if old.len() + new.len() > MAX_BYTES {
            return None;
        }
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let mut counts = Self::default();
        for op in diff(&old, &new, TIME) {
            if op.tag() != similar::DiffTag::Equal {
                counts.added += op.new_range().len();
                counts.removed += op.old_range().len();
            }
        }
        Some(counts)
    }

    /// Both counts with their signs: `+12`, `-3`. A zero is left out unless both are zero.
    #[must_use]
    pub fn words(self) -> (String, String) {
        let word = |sign: &str, count: usize| if count > 0 { format!("{sign}{count}") } else { String::new() };
        match (self.added, self.removed) {
            (0, 0) => ("+0".to_owned(), String::new()),
            (added, removed) => (word("+", added), word("-", removed)),
        }
    }
}
