//! The report of a search: one name per line, followed by notes. Nothing is left out silently.

use std::{ffi::OsStr, path::Path};

use crate::{Context, Outcome, overflow};
use flemma_text::{
    escape_controls,
    truncate::{self, Limits},
};

/// The maximum number of unreadable places that are named.
const NAMED_PROBLEMS: usize = 3;

/// The body followed by its notes, truncated to the size of a result. If it is truncated, the full output is saved.
pub(super) fn finish(tool: &str, body: &str, notes: Vec<String>, context: &Context) -> String {
    finished(tool, body, notes, context, ("", "The full output is"))
}

/// The same of a body that is not whole.
pub(super) fn finish_part(tool: &str, body: &str, notes: Vec<String>, context: &Context) -> String {
    finished(tool, body, notes, context, (" that were kept", "They are"))
}

fn finished(
    tool: &str,
    body: &str,
    mut notes: Vec<String>,
    context: &Context,
    (which, output_is): (&str, &str),
) -> String {
    let head = truncate::truncate_head(body, Limits::default());
    if head.truncated {
        let whole = match overflow::save(&context.overflow_dir, tool, body.as_bytes()) {
            Ok(path) => format!("{output_is} in {}", path.display()),
            Err(error) => format!("The rest could not be saved: {error}"),
        };
        notes.insert(0, format!("Showing lines 1-{} of {}{which}. {whole}", head.output_lines, head.total_lines));
    }
    noted(head.content.strip_suffix('\n').unwrap_or(&head.content), &notes)
}

/// A content with its notes below it.
pub(super) fn noted(content: &str, notes: &[String]) -> String {
    match (content.is_empty(), notes.is_empty()) {
        (_, true) => content.to_owned(),
        (true, false) => format!("[{}]", notes.join(". ")),
        (false, false) => format!("{content}\n\n[{}]", notes.join(". ")),
    }
}

/// A note about the places that could not be read, with the reasons, if there are any.
pub(super) fn unreadable(problems: Vec<String>) -> Option<String> {
    few(problems, ", ").map(|named| format!("Could not be read: {named}"))
}

/// The first `max` of these names, and how many more there are.
pub(super) fn named(names: &[String], max: usize) -> String {
    let first = names[..names.len().min(max)].join(", ");
    match names.len().saturating_sub(max) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The first few of these, and how many more there are; `None` if there are none.
pub(super) fn few(mut problems: Vec<String>, between: &str) -> Option<String> {
    problems.sort_unstable();
    problems.dedup();
    let more = problems.len().saturating_sub(NAMED_PROBLEMS);
    let named = problems.get(..NAMED_PROBLEMS).unwrap_or(&problems).join(between);
    let and_more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{named}{and_more}"))
}

/// A note about the files that were left out because the user denies reading them, if there are any.
pub(super) fn denied(number: usize) -> Option<String> {
    (number > 0).then(|| {
        let were = if number == 1 { "1 path was".to_owned() } else { format!("{number} paths were") };
        format!("{were} left out: the user's policy denies reading there")
    })
}

/// What a result says of a file with changes in the editor.
pub(super) const UNSAVED: &str = "The file has changes in the editor that are not saved; this is what is on the disk";

/// A note about names that cannot be shown, if there are any.
pub(super) fn unspeakable<'a>(names: impl IntoIterator<Item = &'a OsStr>) -> Option<String> {
    let number = names.into_iter().filter(|name| name.to_str().is_none()).count();
    (number > 0).then(|| {
        let are = if number == 1 { "1 name is".to_owned() } else { format!("{number} names are") };
        format!(
            "{are} not valid UTF-8 and shown with \u{fffd}; only bash can open such a file, with a `*` in place of \
             the invalid bytes"
        )
    })
}

/// The searched folder as the model named it, so that the paths in a result can be passed to other tools unchanged.
#[derive(Clone, Debug)]
pub(super) struct Prefix(String);

impl Prefix {
    /// `name` is the folder as the model named it; `None` for the folder where relative paths start.
    pub(super) fn new(name: Option<&str>) -> Self {
        let name = name.unwrap_or_default();
        let name = name.strip_prefix("./").unwrap_or(name);
        match name {
            "" | "." => Self(String::new()),
            name if name.ends_with('/') => Self(name.to_owned()),
            name => Self(format!("{name}/")),
        }
    }

    /// A path below the folder in the format of the result.
    pub(super) fn show(&self, relative: &Path) -> String {
        format!("{}{}", self.0, escape_controls(&relative.to_string_lossy()))
    }

    /// The folder in the format for messages.
    pub(super) fn folder(&self) -> &str {
        if self.0.is_empty() { "the folder" } else { &self.0 }
    }
}

/// The outcome of a search that has found nothing: a sentence that says so, and the notes.
pub(super) fn nothing(tool: &str, sentence: &str, notes: Vec<String>, context: &Context) -> Outcome {
    let notes = finish(tool, "", notes, context);
    Outcome::text(format!("{sentence}\n\n{notes}").trim_end())
}

/// `line 3`, `lines 3-5`.
pub(super) fn line_range(first: usize, count: usize) -> String {
    if count <= 1 { format!("line {first}") } else { format!("lines {first}-{}", first + count - 1) }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
