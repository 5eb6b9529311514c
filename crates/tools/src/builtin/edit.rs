//! `edit`: replaces one piece of text in a file.
//!
//! The old text must occur in the file exactly once, so that the edit is unambiguous. Otherwise the error lists where it
//! occurs, or shows the nearest match. The file is handled as bytes: the rest of it (a byte order mark, bytes that are not
//! valid UTF-8) is not changed. Models write line breaks as LF, whatever the file has. So the old text is found whichever way its
//! lines end there, and each line of the new text ends as the line does that it takes the place of.

use std::{borrow::Cow, time::Duration};

use memchr::memmem;
use serde_json::Value;

use super::{
    guard::Guard,
    input::{file_of, path_of},
    line_range, nearest, replace,
    tool::Proposing,
    written,
};
use crate::{Access, Bounds, Content, Context, Proposal, paths};
use flemma_model::ModelError;
use flemma_text::{
    diff::diff,
    line_breaks, things,
    truncate::{count_lines, format_size},
};

/// The largest file that can be edited, in bytes.
const MAX_FILE: u64 = 256 * 1024 * 1024;

/// The maximum number of occurrences that are counted if the old text is not unique.
const MAX_PLACES: usize = 100;

/// How many of them the error lists.
const NAMED_PLACES: usize = 10;

/// The number of unchanged lines around the change in the diff.
const AROUND: usize = 3;

/// The maximum number of lines in the diff.
const MAX_DIFF_LINES: usize = 60;

/// How long creating the diff may take.
const DIFF_TIME: Duration = Duration::from_millis(200);

/// The tool.
pub(super) const TOOL: Proposing = Proposing { propose, preview: path_of, targets: file_of };

fn propose(input: &Value, context: &Context) -> Result<Proposal, ModelError> {
    let name = super::path(input)?;
    let (old, new) = (super::text(input, "old_text")?, super::text(input, "new_text")?);
    ensure!(!old.is_empty(), "`old_text` is empty. Give the text to replace; to create a file, use write.");
    ensure!(old != new, "`old_text` and `new_text` are the same: there is nothing to change.");
    let path = context.resolve(name);
    // What a call above would create is not there yet.
    if !context.earlier.creates(&paths::real(&path)) {
        let found = Guard::new(context, Bounds::Readable).regular(Access::Write, &path, name)?;
        if found.size() > MAX_FILE {
            let size = format_size(found.size());
            bail!(
                "{name} ({size}) is too large: files over 256 MB cannot be edited. Change it with bash, for example with \
                 sed."
            );
        }
    }
    let target = replace::WriteTarget::new(&path, name, context, &Bounds::Readable)?;
    let content = target.read(name)?;
    let replacement = find(&content, old, new).map_err(|places| match places.as_slice() {
        [] => not_found(name, &content, old),
        places => not_unique(name, &content, places),
    })?;
    let (mut summary, diff) = replacement.describe(name, &content);
    let new = replacement.apply(&content);
    if let Some(lost) = written::lost_mark(&content, &new) {
        summary.push_str(&format!(" {lost}"));
    }
    // The diff does not show how lines end.
    if let Some(change) = line_breaks::change(&content, &new) {
        summary.push_str(&format!(" {}", line_breaks::sentence(&change)));
    }
    let new = Content::new(new);
    let file = target.change(name, Some(Content::new(content)), new);
    Ok(Proposal { files: vec![file], summary, diff })
}

/// A change to a file.
struct Replacement<'a> {
    /// The position of the old text, in bytes.
    at: usize,
    old: Cow<'a, str>,
    new: Cow<'a, str>,
}

/// Finds the only occurrence of `old`. `Err` has all occurrences: none, or more than one (at most [`MAX_PLACES`]).
fn find<'a>(content: &[u8], old: &'a str, new: &'a str) -> Result<Replacement<'a>, Vec<usize>> {
    let exact = places(content, old.as_bytes());
    let breaks = CrLf::of(content);
    let is_mixed = breaks.0.len() < memchr::memchr_iter(b'\n', content).count();
    // Where CRLF is written out for one of both kinds, it is meant.
    if breaks.0.is_empty() || (is_mixed && old.contains("\r\n") && !exact.is_empty()) {
        return match exact.as_slice() {
            &[at] => Ok(Replacement { at, old: old.into(), new: new.into() }),
            _ => Err(exact),
        };
    }
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (wanted, new) = (plain(old), plain(new));
    let found = places(&line_breaks::with_lf(content), wanted.as_bytes());
    let [at] = found.as_slice() else {
        return Err(found.into_iter().map(|at| breaks.place(at)).collect());
    };
    let (at, end) = (breaks.place(*at), breaks.place(at + wanted.len()));
    // What is found is what was wanted, apart from how its lines end.
    let old = String::from_utf8_lossy(&content[at..end]).into_owned();
    let new = with_breaks_of(&old, &new, break_at(content, at));
    Ok(Replacement { at, old: old.into(), new: new.into() })
}

/// The CRs that are a part of line breaks, by their places in the content without them.
struct CrLf(Vec<usize>);

impl CrLf {
    fn of(content: &[u8]) -> Self {
        let newlines = memchr::memchr_iter(b'\n', content);
        let crs = newlines.filter_map(|at| at.checked_sub(1).filter(|before| content[*before] == b'\r'));
        Self(crs.enumerate().map(|(before, at)| at - before).collect())
    }

    /// The place in the content of a place in that: before the CR of a line break.
    fn place(&self, plain: usize) -> usize {
        plain + self.0.partition_point(|cr| *cr < plain)
    }
}

/// How the line at this place ends; the line above, if it is the last one and does not end.
fn break_at(content: &[u8], at: usize) -> &'static str {
    let newline = memchr::memchr(b'\n', &content[at..]).map(|below| at + below);
    let newline = newline.or_else(|| memchr::memrchr(b'\n', &content[..at]));
    if newline.is_some_and(|newline| content[..newline].ends_with(b"\r")) { "\r\n" } else { "\n" }
}

/// The new text, whose lines end in LF, with the line breaks of the old one: each line that stays keeps its own, and one that is changed
/// or added has that of the line in whose place it is, or above it. `usual` is for where there is none.
fn with_breaks_of(old: &str, new: &str, usual: &'static str) -> String {
    let end = |line: &str| if line.ends_with("\r\n") { Some("\r\n") } else { line.ends_with('\n').then_some("\n") };
    let ends: Vec<_> = old.split_inclusive('\n').map(end).collect();
    let old_lines: Vec<&str> = old.split_inclusive('\n').map(|line| line.trim_end_matches(['\r', '\n'])).collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let bare: Vec<&str> = new_lines.iter().map(|line| line.trim_end_matches('\n')).collect();
    let mut model = vec![0; new_lines.len()];
    for op in diff(&old_lines, &bare, DIFF_TIME) {
        let (old, new) = (op.old_range(), op.new_range());
        for (at, line) in new.enumerate() {
            // Of lines that are added: the line above them.
            let last = old.end.max(1) - 1;
            model[line] = (old.start + at).min(last);
        }
    }
    let line = |(line, model): (&&str, usize)| match line.strip_suffix('\n') {
        Some(line) => format!("{line}{}", ends.get(model).copied().flatten().unwrap_or(usual)),
        None => (*line).to_owned(),
    };
    new_lines.iter().zip(model).map(line).collect()
}

/// The positions of `wanted`, including overlapping ones, up to [`MAX_PLACES`].
fn places(content: &[u8], wanted: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(wanted);
    let next = |from: usize| finder.find(&content[from..]).map(|at| from + at);
    std::iter::successors(next(0), |at| next(at + 1)).take(MAX_PLACES).collect()
}

fn line_of(content: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &content[..at]).count() + 1
}

fn not_unique(name: &str, content: &[u8], places: &[usize]) -> ModelError {
    let many = if places.len() == MAX_PLACES { "at least " } else { "" };
    let mut named: Vec<String> = places.iter().take(NAMED_PLACES).map(|&at| line_of(content, at).to_string()).collect();
    named.dedup();
    let more = if places.len() > NAMED_PLACES { " and more" } else { "" };
    let word = if named.len() == 1 { "line" } else { "lines" };
    ModelError::new(format!(
        "`old_text` occurs in {name} {many}{} times, at {word} {}{more}. Nothing was changed. Include more of the \
         surrounding text, so that it occurs only once.",
        places.len(),
        named.join(", ")
    ))
}

fn not_found(name: &str, content: &[u8], old: &str) -> ModelError {
    let plain = line_breaks::with_lf(content);
    if let Some(old) = old.replace("\r\n", "\n").strip_suffix('\n')
        && !old.is_empty()
        && plain.ends_with(old.as_bytes())
    {
        return ModelError::new(format!(
            "`old_text` was not found in {name}: it ends in a line break, and the last line of the file has none. Nothing was \
             changed. Leave the line break out."
        ));
    }
    let text = String::from_utf8_lossy(content);
    let Some(near) = nearest::nearest(&text, old) else {
        return ModelError::new(format!(
            "`old_text` was not found in {name} ({}), and neither was anything similar. Nothing was changed. Read the \
             file again.",
            things(count_lines(content), "line")
        ));
    };
    let how = match near.only_white_space {
        true => "which differs only in white space".to_owned(),
        false => format!("{:.0}% similar", near.likeness * 100.0),
    };
    let unseen = near.unseen.map(|unseen| format!("\n\nSome characters only look the same: {unseen}."));
    ModelError::new(format!(
        "`old_text` was not found in {name}. Nothing was changed. The nearest match is {} ({how}):\n\n{}{}",
        line_range(near.line, near.lines),
        near.text,
        unseen.unwrap_or_default()
    ))
}

impl Replacement<'_> {
    fn apply(&self, content: &[u8]) -> Vec<u8> {
        [&content[..self.at], self.new.as_bytes(), &content[self.at + self.old.len()..]].concat()
    }

    /// The message for the model: which lines changed, and a diff.
    fn describe(&self, name: &str, content: &[u8]) -> (String, String) {
        let (before, rest) = content.split_at(self.at);
        let after = &rest[self.old.len()..];
        // The change in whole lines, including the rest of its first and last line.
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let ends_line = |text: &str| text.ends_with('\n') || (text.is_empty() && line_start == before.len());
        let line_end = if ends_line(&self.old) && ends_line(&self.new) { 0 } else { end_of_lines(after, 1) };
        let whole = |text: &str| [&before[line_start..], text.as_bytes(), &after[..line_end]].concat();
        let (old, new) = (whole(&self.old), whole(&self.new));
        let first = line_of(content, line_start);
        let (old_lines, new_lines) = (count_lines(&old), count_lines(&new));
        let summary = match (old_lines, new_lines) {
            (_, 0) => format!("deleted {}", line_range(first, old_lines)),
            (old_lines, new_lines) if old_lines == new_lines => line_range(first, new_lines),
            _ => format!("{} became {}", line_range(first, old_lines), line_range(first, new_lines)),
        };
        let above = &before[start_of_lines(&before[..line_start], AROUND)..line_start];
        let below = &after[line_end..line_end + end_of_lines(&after[line_end..], AROUND)];
        let side = |lines: &[u8]| String::from_utf8_lossy(&[above, lines, below].concat()).replace("\r\n", "\n");
        let diff = hunk(&side(&old), &side(&new), first - count_lines(above));
        (format!("Edited {name}: {summary}."), diff)
    }
}

/// The start of the last `count` lines of a text that ends with a line break or is empty.
fn start_of_lines(text: &[u8], count: usize) -> usize {
    memchr::memrchr_iter(b'\n', text).nth(count).map_or(0, |newline| newline + 1)
}

/// The end of the first `count` lines of a text, including their line breaks.
fn end_of_lines(text: &[u8], count: usize) -> usize {
    memchr::memchr_iter(b'\n', text).nth(count - 1).map_or(text.len(), |newline| newline + 1)
}

/// A unified diff with one hunk that starts at line `first` in both texts.
fn hunk(old: &str, new: &str, first: usize) -> String {
    let lines_of = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let (old_lines, new_lines) = (lines_of(old), lines_of(new));
    let changes = diff(&old_lines, &new_lines, DIFF_TIME);
    let mut shown =
        vec![format!("@@ -{first},{} +{first},{} @@", count_lines(old.as_bytes()), count_lines(new.as_bytes()))];
    let mut more = 0;
    for change in changes.iter().flat_map(|change| change.iter_changes(&old_lines, &new_lines)) {
        if shown.len() > MAX_DIFF_LINES {
            more += 1;
            continue;
        }
        shown.push(format!("{}{}", change.tag(), change.value().trim_end_matches('\n')));
    }
    if more > 0 {
        shown.push(format!("… {more} more {}", if more == 1 { "line" } else { "lines" }));
    }
    written::shortened(shown).join("\n")
}
