//! How many lines a change adds and removes.

use std::time::Duration;

use serde_json::Value;

use flemma_text::diff::changes;

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
    /// What replacing a text by another one changes, as the input of `edit` says it.
    pub(super) fn of_replacing(input: &Value) -> Option<Self> {
        Self::between(input.get("old_text")?.as_str()?, input.get("new_text")?.as_str()?)
    }

    /// The lines that differ between two texts; `None` if they are too long to compare.
    pub fn between(old: &str, new: &str) -> Option<Self> {
        if old.len() + new.len() > MAX_BYTES {
            return None;
        }
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let changes = changes(&old, &new, TIME);
        let added = changes.iter().map(|op| op.new_range().len()).sum();
        Some(Self { added, removed: changes.iter().map(|op| op.old_range().len()).sum() })
    }

    /// Both counts with their signs: `+12`, `-3`. A zero is left out unless both are zero.
    pub fn words(self) -> (String, String) {
        let word = |sign: &str, count: usize| if count > 0 { format!("{sign}{count}") } else { String::new() };
        match (self.added, self.removed) {
            (0, 0) => ("+0".to_owned(), String::new()),
            (added, removed) => (word("+", added), word("-", removed)),
        }
    }
}
