//! The text of `@diff`: which files differ and by how many lines, and then the differences, with the room shared by the files.

use std::path::PathBuf;

use crate::references::captured_text::{CapturedText, count, left_out};
use flemma_runtime::{ChangedFile, GitDiff};
use flemma_text::{
    escape_controls,
    truncate::{Limits, format_size, truncate_head},
};

/// The part of the room that the list of files may take.
const LIST_SHARE: usize = 2;

/// What `git diff` says. `unsaved` are files with changes in the editor that are not on the disk, so that the differences lack them.
pub(crate) fn of_diff(found: &GitDiff, unsaved: &[PathBuf]) -> CapturedText {
    let root = escape_controls(&found.root.to_string_lossy()).into_owned();
    let mut text = CapturedText::default();
    let limits = Limits::default();
    let (added, deleted) = totals(&found.files);
    let summary = match found.files.len() {
        0 if found.denied > 0 => "nothing that may be read".to_owned(),
        0 => "no unstaged changes".to_owned(),
        files => format!("{} with +{added} -{deleted}", count(files, "file")),
    };
    text.content = format!("git diff in {root}: {summary}");
    let list: Vec<String> = found.files.iter().map(line_of).collect();
    let room = Limits { lines: limits.lines / LIST_SHARE, bytes: limits.bytes / LIST_SHARE };
    let all = list.join("\n");
    let shown = truncate_head(&all, room);
    if !list.is_empty() {
        text.content.push_str(&format!("\n{}", shown.content));
    }
    if let Some(rest) = found.files.get(shown.output_lines..).filter(|rest| !rest.is_empty()) {
        let (added, deleted) = totals(rest);
        text.content.push_str(&format!("\n[{} more, with +{added} -{deleted}]", count(rest.len(), "file")));
    }
    let room = Limits { lines: limits.lines - shown.output_lines, bytes: limits.bytes - shown.output_bytes };
    let parts: Vec<String> = found.parts.iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    let is_whole = hunks(&parts, room, &mut text.content);
    let missing = found.files.len().saturating_sub(parts.len());
    if missing > 0 {
        text.content.push_str(&format!("\n[The diffs of {} are left out.]", count(missing, "more file")));
    }
    if !is_whole || missing > 0 {
        let size = format_size(limits.bytes as u64);
        text.cut = Some("part of the differences".to_owned());
        text.warnings.push(format!("diff truncated to {size}; each file keeps a share"));
    }
    text.content.push_str(&left_out(found.denied, "file"));
    for file in unsaved {
        let name = escape_controls(&file.strip_prefix(&found.root).unwrap_or(file).to_string_lossy()).into_owned();
        text.content.push_str(&format!("\n[{name} has unsaved changes in the editor, which are not in this diff.]"));
        text.warnings.push(format!("{name} has unsaved changes, which are not in the diff"));
    }
    text
}

/// A line of the list.
fn line_of(file: &ChangedFile) -> String {
    let name = escape_controls(&file.path.to_string_lossy()).into_owned();
    match file.lines {
        Some((added, deleted)) => format!("{name} | +{added} -{deleted}"),
        None => format!("{name} | not text"),
    }
}

fn totals(files: &[ChangedFile]) -> (usize, usize) {
    files.iter().filter_map(|file| file.lines).fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1))
}

/// Appends the differences as far as there is room. What a short one does not need goes to the longer ones. Says whether all of it is
/// there.
fn hunks(parts: &[String], room: Limits, text: &mut String) -> bool {
    let size = |part: &str| Limits { lines: part.lines().count(), bytes: part.len() };
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|part| parts[*part].len());
    let mut shares = vec![Limits { lines: 0, bytes: 0 }; parts.len()];
    let mut left = room;
    for (before, part) in order.into_iter().enumerate() {
        let others = parts.len() - before;
        let wanted = size(&parts[part]);
        let share =
            Limits { lines: wanted.lines.min(left.lines / others), bytes: wanted.bytes.min(left.bytes / others) };
        left = Limits { lines: left.lines - share.lines, bytes: left.bytes - share.bytes };
        shares[part] = share;
    }
    let mut is_whole = true;
    for (part, share) in parts.iter().zip(shares) {
        let shown = truncate_head(part, share);
        if shown.output_lines > 0 {
            text.push_str(&format!("\n{}", shown.content.trim_end_matches('\n')));
        }
        if shown.truncated {
            is_whole = false;
            let (here, all) = (shown.output_lines, shown.total_lines);
            text.push_str(&format!("\n[{here} of {all} lines about this file are here.]"));
        }
    }
    is_whole
}
