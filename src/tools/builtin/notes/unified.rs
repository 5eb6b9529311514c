//! What changes in a page, as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, group_diff_ops};

use crate::text::diff;

/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// The maximum number of lines in the diff.
const MAX_LINES: usize = 60;

/// How long creating the diff may take.
const TIME: Duration = Duration::from_millis(200);

/// The changes from one content to another one; empty if there are none.
pub(super) fn diff(old: &[u8], new: &[u8]) -> String {
    let lines = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
    let (old, new) = (lines(old), lines(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut shown = Vec::new();
    for group in group_diff_ops(diff::diff(&old, &new, TIME), AROUND) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |start: usize, end: usize| format!("{},{}", start + usize::from(end > start), end - start);
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        shown.push(format!("@@ -{old_range} +{new_range} @@"));
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            shown.push(format!("{sign}{}", change.value().trim_end_matches(['\n', '\r'])));
        }
    }
    let more = shown.len().saturating_sub(MAX_LINES);
    if more > 0 {
        shown.truncate(MAX_LINES);
        shown.push(format!("… {} more", super::super::lines(more)));
    }
    shown.join("\n")
}
