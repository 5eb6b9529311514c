//! How a search tells what it found: names on one line each, notes behind, nothing silently left out.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::{
    text::{
        escape_controls,
        truncate::{self, Limits},
    },
    tools::{Context, overflow},
};

/// How many places that could not be read are named.
const NAMED_PROBLEMS: usize = 3;

/// The body with its notes behind it, cut to the size of a result; the whole is saved then.
pub(super) fn finish(tool: &str, body: &str, mut notes: Vec<String>, context: &Context) -> String {
    let head = truncate::truncate_head(body, Limits::default());
    if head.truncated {
        let whole = match overflow::save(&context.overflow_dir, tool, body.as_bytes()) {
            Ok(path) => format!("The full output is in {}", path.display()),
            Err(error) => format!("The rest could not be saved: {error}"),
        };
        notes.insert(0, format!("Showing lines 1-{} of {}. {whole}", head.output_lines, head.total_lines));
    }
    let content = head.content.strip_suffix('\n').unwrap_or(&head.content);
    match (content.is_empty(), notes.is_empty()) {
        (_, true) => content.to_owned(),
        (true, false) => format!("[{}]", notes.join(". ")),
        (false, false) => format!("{content}\n\n[{}]", notes.join(". ")),
    }
}

/// A note on what could not be read, if there is any; each place with its reason.
pub(super) fn unreadable(mut problems: Vec<String>) -> Option<String> {
    problems.sort_unstable();
    problems.dedup();
    let more = problems.len().saturating_sub(NAMED_PROBLEMS);
    let named = problems.get(..NAMED_PROBLEMS).unwrap_or(&problems).join(", ");
    let and_more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("Could not be read: {named}{and_more}"))
}

/// A note on what was left out, if there is any, since the user denies reading it.
pub(super) fn denied(number: usize) -> Option<String> {
    (number > 0).then(|| {
        let were = if number == 1 { "1 path was".to_owned() } else { format!("{number} paths were") };
        format!("{were} left out: the user's policy denies reading there")
    })
}

/// A note on names that cannot be written here, if there are any.
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

/// The searched folder as the model named it, so that the paths in a result can be given to other tools as they are.
#[derive(Clone, Debug)]
pub(super) struct Prefix(String);

impl Prefix {
    /// `name` is what the model called the folder; `None` for the one where relative paths start.
    pub(super) fn new(name: Option<&str>) -> Self {
        let name = name.unwrap_or_default();
        let name = name.strip_prefix("./").unwrap_or(name);
        match name {
            "" | "." => Self(String::new()),
            name if name.ends_with('/') => Self(name.to_owned()),
            name => Self(format!("{name}/")),
        }
    }

    /// A path below the folder, as a result shows it.
    pub(super) fn show(&self, relative: &Path) -> String {
        format!("{}{}", self.0, escape_controls(&relative.to_string_lossy()))
    }

    /// The folder, as a message names it.
    pub(super) fn folder(&self) -> &str {
        if self.0.is_empty() { "the folder" } else { &self.0 }
    }
}

/// A number of things: `1 file`, `2 files`.
pub(super) fn things(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The folder a search begins in, links in its own path followed.
///
/// # Errors
/// A message that names it: it is not there, it is no folder, it cannot be looked at, or the user denies reading it.
pub(super) fn folder(context: &Context, name: Option<&str>) -> Result<PathBuf, String> {
    let name = name.unwrap_or(".");
    let path = context.resolve(name);
    super::files::directory(&path, name)?;
    let folder = path.canonicalize().map_err(|error| super::files::problem(&path, name, &error))?;
    may_be_read(context, &[&path, &folder], name)?;
    Ok(folder)
}

/// The call was decided on before it ran, and links may have changed since.
///
/// # Errors
/// When the user denies reading one of `paths`, which the model calls `name`.
pub(super) fn may_be_read(context: &Context, paths: &[&Path], name: &str) -> Result<(), String> {
    match paths.iter().any(|path| context.denied.contains(path)) {
        true => Err(format!("The user's policy denies reading {}.", escape_controls(name))),
        false => Ok(()),
    }
}

/// `1 line`, `2 lines`.
pub(super) fn lines(number: usize) -> String {
    if number == 1 { "1 line".to_owned() } else { format!("{number} lines") }
}

/// `line 3`, `lines 3-5`.
pub(super) fn line_range(first: usize, count: usize) -> String {
    if count <= 1 { format!("line {first}") } else { format!("lines {first}-{}", first + count - 1) }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
