//! `find`: finds files and folders with a glob.
//!
//! The whole folder is walked, since the first names in order may be found last. The first matches in order are shown, and
//! all are counted. [`files_to_pick`] is what the user is offered in the same way.

use std::{
    fs::{self, FileType},
    path::{Path, PathBuf},
};

use ignore::DirEntry;
use serde_json::Value;

use super::{
    report,
    tool::Looking,
    walk::{Glob, Scope, Walk},
};
use crate::{Context, Outcome};
use flemma_model::ModelError;
use flemma_text::things;

/// The default for the number of paths that are shown, and the maximum that a call can ask for.
const LIMIT: (usize, usize) = (500, 100_000);

/// The tool.
pub(super) const TOOL: Looking = Looking { look: find, preview };

fn preview(input: &Value) -> Option<String> {
    let place = super::optional_text(input, "path").map(|path| format!(" in {path}")).unwrap_or_default();
    Some(format!("{}{place}", input.get("pattern")?.as_str()?))
}

fn find(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let pattern = super::text(input, "pattern")?;
    let (pattern, folders_only) = match pattern.strip_suffix('/') {
        Some(folder) => (folder, true),
        None => (pattern, false),
    };
    let glob = Glob::new(pattern, "pattern")?;
    let kind = super::optional_text(input, "kind").or(folders_only.then_some("dir"));
    let limit = super::limit(input, LIMIT)?;
    let scope = Scope::of(super::switch(input, "all"), glob.asks_for_hidden());
    let walk = Walk::through(context, super::optional_text(input, "path"), scope)?;
    let walked = walk.keep(|entry, path| {
        let is_folder = entry.file_type()?.is_dir();
        let is_found = glob.matches(path) && kind.is_none_or(|kind| is_of(kind, entry));
        is_found.then(|| (path.to_owned(), if is_folder { "/" } else { "" }))
    })?;
    let mut found: Vec<(PathBuf, &str)> = walked.kept;
    found.sort_unstable();
    let total = found.len();
    found.truncate(limit);
    let body: String = found.iter().map(|(path, end)| format!("{}{end}\n", walk.prefix.show(path))).collect();

    let mut notes = Vec::new();
    if total > limit {
        notes.push(format!("{limit} of {total} are shown. Narrow `pattern` or `path`, or raise `limit`"));
    }
    notes.extend(report::unspeakable(found.iter().map(|(path, _)| path.as_os_str())));
    notes.extend(report::unreadable(walked.problems));
    notes.extend(report::denied(walked.denied));
    if total == 0 && walked.stopped.is_none() {
        let what = kind.map_or("Nothing", |kind| if kind == "file" { "No file" } else { "No folder" });
        let sentence = format!("{what} in {} matches `{pattern}`.{}", walk.prefix.folder(), scope.left_out());
        return Ok(report::nothing("find", &sentence, notes, context));
    }
    let text = report::finish("find", &body, notes, context);
    Ok(match walked.stopped {
        None => Outcome::text(text),
        Some(stopped) => {
            let seen = if total == 0 { String::new() } else { format!("{}:\n{text}", things(total, "path")) };
            stopped.outcome(seen, "Choose a smaller folder in `path`.")
        }
    })
}

/// Whether an entry is a file, or a folder. A link has the kind of its target.
fn is_of(kind: &str, entry: &DirEntry) -> bool {
    let is = |found: FileType| if kind == "file" { found.is_file() } else { found.is_dir() };
    match entry.file_type() {
        Some(found) if found.is_symlink() => fs::metadata(entry.path()).is_ok_and(|target| is(target.file_type())),
        found => found.is_some_and(is),
    }
}

/// The maximum number of files that `pick_file` offers. A picker has to show and filter them.
const MAX_FILES: usize = 50_000;

/// The files below a folder, for `pick_file`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesToPick {
    /// Their paths in order, such that other tools understand them.
    pub paths: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// How many files and folders were left out because the user denies reading them.
    pub denied: usize,
    /// Whether the time was too short for all of them.
    pub is_partial: bool,
}

/// Lists the files of a folder, without hidden files, those that ignore files name, and those that the user denies reading.
/// This reads the disk.
///
/// # Errors
/// If the folder cannot be read, or the user denies reading it.
pub fn files_to_pick(context: &Context, folder: Option<&str>) -> Result<FilesToPick, ModelError> {
    let walk = Walk::through(context, folder.filter(|folder| !folder.is_empty()), Scope::default())?;
    let is_file = |path: &Path| fs::metadata(path).is_ok_and(|target| target.is_file());
    let walked = walk.keep(|entry, path| {
        let kind = entry.file_type()?;
        // A name that cannot be written as it is would name another file.
        let is_plain = path.to_str().is_some_and(|name| !name.contains(char::is_control));
        let is_wanted = is_plain && (kind.is_file() || (kind.is_symlink() && is_file(entry.path())));
        is_wanted.then(|| walk.prefix.show(path))
    })?;
    let mut paths = walked.kept;
    paths.sort_unstable();
    let more = paths.len().saturating_sub(MAX_FILES);
    paths.truncate(MAX_FILES);
    Ok(FilesToPick { paths, more, denied: walked.denied, is_partial: walked.stopped.is_some() })
}
