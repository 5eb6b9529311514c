//! Which lines one undo step has changed.

use std::ops::Range;

use super::Change;

/// The maximum number of separate places that are tracked in one undo step.
const PLACES: usize = 64;

/// The undo step of the user's latest changes.
#[derive(Clone, Debug)]
pub(super) struct EditStep {
    pub id: u64,
    /// The changed lines, in the current numbering.
    pub touched: Vec<Range<usize>>,
    /// The part of them that may contain text attributed to the user since text of another author was deleted in this
    /// step.
    pub unsuspected: Vec<Range<usize>>,
    /// The hashes of the lines typed in it, unless it turns out to be undo.
    pub typed: Vec<u64>,
}

impl EditStep {
    /// A step that has changed nothing yet.
    pub fn new(id: u64) -> Self {
        Self { id, touched: Vec::new(), unsuspected: Vec::new(), typed: Vec::new() }
    }

    /// Adds a change, with the hashes of the lines typed in it.
    pub fn add(&mut self, change: Change, typed: Vec<u64>) {
        self.typed.extend(typed);
        touch(&mut self.touched, change);
        touch(&mut self.unsuspected, change);
    }

    /// Whether it has changed this line.
    pub fn has_touched(&self, line: usize) -> bool {
        self.touched.iter().any(|lines| lines.contains(&line))
    }
}

/// Adds the changed lines to the places changed before, and moves those with the change.
fn touch(places: &mut Vec<Range<usize>>, Change { first, old_last, new_last }: Change) {
    let moved = |line: usize| line + new_last - old_last;
    let mut merged = first..new_last;
    let mut touched = Vec::with_capacity(places.len() + 1);
    for range in places.drain(..) {
        if range.end < first {
            touched.push(range);
        } else if range.start > old_last {
            touched.push(moved(range.start)..moved(range.end));
        } else {
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(if range.end > old_last { moved(range.end) } else { new_last });
        }
    }
    touched.push(merged);
    if touched.len() > PLACES {
        let start = touched.iter().map(|range| range.start).min().unwrap_or(first);
        let end = touched.iter().map(|range| range.end).max().unwrap_or(new_last);
        touched.clear();
        touched.push(start..end);
    }
    *places = touched;
}
