//! What has become of the changes that somebody proposed, after somebody else has edited them.

use std::{ops::Range, time::Duration};

use similar::DiffOp;

use super::{
    diff::{are_comparable, changes},
    unified::readable,
};

/// How long comparing may take.
const TIME: Duration = Duration::from_millis(500);

/// What has become of each proposed change: the numbers of the lines, from 1, at which they begin in the old text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Those that were made as proposed.
    pub applied: Vec<usize>,
    /// Those whose lines are as they were.
    pub left: Vec<usize>,
    /// Those in whose place something else stands.
    pub edited: Vec<usize>,
    /// Those whose lines are as somebody else has made them since the changes were proposed.
    pub meanwhile: Vec<usize>,
    /// Whether lines were changed that the proposal leaves alone.
    pub has_own: bool,
}

impl Fates {
    /// What has become of the changes from `old` to `proposed`, where `written` was written; `None` for texts that are not
    /// compared. `first` is what the file had when the changes were proposed, if that was not `old`.
    pub fn of(old: &[u8], proposed: &[u8], written: &[u8], first: Option<&[u8]>) -> Option<Self> {
        if !are_comparable(&[old, proposed, written]) {
            return None;
        }
        let [old, proposed, written] = [old, proposed, written].map(readable);
        let first = first.filter(|text| are_comparable(&[text])).map(readable);
        let lines_of = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
        let (old, proposed, written) = (lines_of(&old), lines_of(&proposed), lines_of(&written));
        let wanted = changes(&old, &proposed, TIME);
        let made = changes(&old, &written, TIME);
        let meanwhile = first.as_deref().map(|first| changes(&lines_of(first), &old, TIME)).unwrap_or_default();
        let mut fates = Self::default();
        let is_same = |one: &DiffOp, other: &DiffOp| {
            one.old_range() == other.old_range() && proposed[one.new_range()] == written[other.new_range()]
        };
        for change in &wanted {
            let fate = if made.iter().any(|other| is_same(change, other)) {
                &mut fates.applied
            } else if made.iter().any(|other| touch(change, other)) {
                &mut fates.edited
            } else if meanwhile.iter().any(|other| overlap(&change.old_range(), &other.new_range())) {
                &mut fates.meanwhile
            } else {
                &mut fates.left
            };
            fate.push(change.old_range().start + 1);
        }
        fates.has_own = made.iter().any(|change| !wanted.iter().any(|other| touch(change, other)));
        Some(fates)
    }
}

/// Whether two changes concern the same lines, or insert at the same place.
fn touch(one: &DiffOp, other: &DiffOp) -> bool {
    overlap(&one.old_range(), &other.old_range())
}

const fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start == other.start || (one.start < other.end && other.start < one.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_applied_left_or_edited() {
        let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
        let proposed = old.replace("5\n6\n", "five\n6\n").replace("14\n", "fourteen\n").replace("20\n", "twenty\n");
        let written = proposed.replace("fourteen", "14").replace("twenty", "zwanzig").replace("30", "thirty");
        let fates = Fates::of(old.as_bytes(), proposed.as_bytes(), written.as_bytes(), None).unwrap();
        let expected = Fates { applied: vec![5], left: vec![14], edited: vec![20], has_own: true, ..Fates::default() };
        assert_eq!(fates, expected);
        assert_eq!(Fates::of(b"\0", b"a", b"b", None), None);
        // The fourteenth line was another one when the change was proposed.
        let first = old.replace("14\n", "twice seven\n");
        let fates = Fates::of(old.as_bytes(), proposed.as_bytes(), written.as_bytes(), Some(first.as_bytes()));
        assert_eq!(fates, Some(Fates { left: Vec::new(), meanwhile: vec![14], ..expected }));
    }
}
