//! Lines that somebody else than the user wrote, as hashes.

use std::collections::HashSet;

use super::line_scan::BLANK;

/// Hashes of lines. They are random numbers, so a fast hasher is sufficient.
pub(super) type Hashes = HashSet<u64, foldhash::fast::RandomState>;

/// A set of lines, as hashes.
#[derive(Clone, Debug, Default)]
pub(super) struct LineSet {
    hashes: Hashes,
    /// Hashes that are not in `hashes` yet. Inserting one costs as much as parsing the line, and most are never looked
    /// up.
    loose: Vec<u64>,
    /// Some lines are missing, so any line may be in the set.
    pub incomplete: bool,
    /// Some lines are still to be added, so any line may be in the set until then.
    pub is_reading: bool,
}

impl LineSet {
    pub fn insert(&mut self, hash: u64) {
        self.loose.push(hash);
    }

    /// Adds scanned lines. Blank lines have no author and are skipped.
    pub fn extend<'a>(&mut self, lines: impl IntoIterator<Item = &'a (u8, u64)>) {
        self.loose.extend(lines.into_iter().filter(|(flags, _)| flags & BLANK == 0).map(|(_, hash)| *hash));
    }

    /// Whether any line may be in the set.
    pub fn is_unsure(&self) -> bool {
        self.incomplete || self.is_reading
    }

    pub fn contains(&mut self, hash: u64) -> bool {
        if self.is_unsure() {
            return true;
        }
        self.hashes.extend(std::mem::take(&mut self.loose));
        self.hashes.contains(&hash)
    }
}
