//! Unified diffs of whole files, to be looked at.
//!
//! A file is bytes. Those that are not UTF-8 are shown as `<FF>`, and of a file with a zero byte only the
//! sizes are shown. The time and the number of lines are bounded, so that a diff of any two files comes soon.

use std::{borrow::Cow, time::Duration};

use similar::{DiffOp, group_diff_ops};

use super::{
    diff::{are_comparable, diff},
    truncate::format_size,
};

/// How long comparing two files may take. After that, the rest counts as changed.
const TIME: Duration = Duration::from_millis(500);

/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// What stands below a last line without a line break.
pub const NO_BREAK: &str = "\\ No newline at end of file";

/// What differs between two files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unified {
    /// The hunks, line by line.
    pub lines: Vec<String>,
    /// How many lines the new file has that the old one has not.
    pub added: usize,
    /// How many lines the old file has that the new one has not.
    pub removed: usize,
    /// Whether only the sizes of the files are compared, and not their lines.
    pub is_opaque: bool,
    /// How many lines of hunks are not among the lines.
    pub more: usize,
}

impl Unified {
    /// Compares two files. A file that is not there counts as an empty one. At most `max_lines` lines of hunks are given; a
    /// last line says how many more there are.
    pub fn of(old: &[u8], new: &[u8], max_lines: usize) -> Self {
        if old == new {
            return Self::default();
        }
        if !are_comparable(&[old, new]) {
            let (old, new) = (format_size(old.len() as u64), format_size(new.len() as u64));
            let lines = vec![format!("(not shown line by line: {old} become {new})")];
            return Self { lines, is_opaque: true, ..Self::default() };
        }
        let (old, new) = (readable(old), readable(new));
        let lines_of = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
        let (old, new) = (lines_of(&old), lines_of(&new));
        let ops = diff(&old, &new, TIME);
        let mut unified = Self::default();
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            unified.removed += op.old_range().len();
            unified.added += op.new_range().len();
        }
        for hunk in group_diff_ops(ops, AROUND) {
            for line in hunk_lines(&hunk, &old, &new) {
                if unified.lines.len() < max_lines {
                    unified.lines.push(line);
                } else {
                    unified.more += 1;
                }
            }
        }
        if unified.more > 0 {
            let lines = if unified.more == 1 { "line" } else { "lines" };
            unified.lines.push(format!("… {} more {lines}", unified.more));
        }
        unified
    }
}

/// A content as text. Bytes that are not UTF-8 are different where they differ.
pub(super) fn readable(content: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(content) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(content.len() + 16);
    for chunk in content.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("<{byte:02X}>")));
    }
    Cow::Owned(text)
}

fn hunk_lines(hunk: &[DiffOp], old: &[&str], new: &[&str]) -> Vec<String> {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return Vec::new() };
    let range = |start: usize, end: usize| {
        // As diff(1) writes it: an empty range names the line before it.
        let first = if start == end { start } else { start + 1 };
        format!("{first},{}", end - start)
    };
    let old_range = range(first.old_range().start, last.old_range().end);
    let new_range = range(first.new_range().start, last.new_range().end);
    let mut lines = vec![format!("@@ -{old_range} +{new_range} @@")];
    for change in hunk.iter().flat_map(|op| op.iter_changes(old, new)) {
        let line = change.value();
        lines.push(format!("{}{}", change.tag(), line.strip_suffix('\n').unwrap_or(line)));
        if !line.ends_with('\n') {
            lines.push(NO_BREAK.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_with_lines_around_it() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("10\n", "ten\n");
        let unified = Unified::of(old.as_bytes(), new.as_bytes(), 100);
        let lines = ["@@ -7,7 +7,7 @@", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13"];
        assert_eq!((unified.lines, unified.added, unified.removed), (lines.map(str::to_owned).to_vec(), 1, 1));
        let made = Unified::of(b"", b"a\nb", 100);
        assert_eq!(made.lines, ["@@ -0,0 +1,2 @@", "+a", "+b", "\\ No newline at end of file"]);
        assert_eq!(Unified::of(b"a\n", b"a\n", 100), Unified::default());
        assert_eq!(Unified::of(b"", b"a\nb\nc\n", 2).lines, ["@@ -0,0 +1,3 @@", "+a", "… 2 more lines"]);
        assert_eq!(Unified::of(b"\0", b"a", 9).lines, ["(not shown line by line: 1 B become 1 B)"]);
    }
}
