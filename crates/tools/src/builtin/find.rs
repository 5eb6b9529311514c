//! `find`: finds files and folders with a glob.
//!
//! The whole folder is walked, since the first names in order may be found last. The first matches in order are shown, and
//! all are counted.

use std::{fs, path::PathBuf, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    deadline::Deadline,
    globs::Glob,
    guard::Guard,
    report::{self, Prefix, things},
    walk::{self, Scope},
};
use crate::{Bounds, Context, Definition, NativeTool, Outcome, preview};
use flemma_model::ModelError;

/// The default for the number of paths that are shown.
const USUAL_LIMIT: usize = 500;

/// The maximum number of paths that a call can ask for.
const MAX_LIMIT: usize = 100_000;

struct Find;

pub(super) fn definition() -> Definition {
    let mut definition = super::harmless(super::define(
        "find",
        "Find files and folders by a glob. What .gitignore names and hidden files are left out unless `all` is true. \
         The result has one path on a line, sorted, folders with a / behind them.",
        json!({
            "pattern": {
                "type": "string",
                "description": "The glob: `*.rs` matches names in any folder, `src/**/*.rs` matches paths below \
                                `path`.",
            },
            "path": {
                "type": ["string", "null"],
                "description": "The folder to look in; null for the conversation's folder.",
            },
            "kind": {
                "type": ["string", "null"],
                "enum": ["file", "dir", null],
                "description": "Only files, or only folders; null for both.",
            },
            "limit": { "type": ["integer", "null"], "description": "How many paths to show; null for 500." },
            "all": {
                "type": ["boolean", "null"],
                "description": "true to include hidden files and files ignored by .gitignore.",
            },
        }),
        Find,
    ));
    definition.is_async = true;
    definition.read_path_param = Some("path".into());
    definition.leaves_out_denied = true;
    definition
}

impl NativeTool for Find {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        super::searching(context, move |context| find(&input, context).unwrap_or_else(Outcome::failure)).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let pattern = input.get("pattern")?.as_str()?;
        let place = super::optional_text(input, "path").map(|path| format!(" in {path}")).unwrap_or_default();
        Some(preview::labelled(format!("{pattern}{place}"), input))
    }
}

/// The kind of entries to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Any,
    File,
    Folder,
}

/// A path that matches. Paths come first in order: field order is sort order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoundPath {
    path: PathBuf,
    is_folder: bool,
}

fn find(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context);
    let pattern = super::text(input, "pattern")?;
    let (pattern, folders_only) = match pattern.strip_suffix('/') {
        Some(folder) => (folder, true),
        None => (pattern, false),
    };
    let glob = Glob::new(pattern, "pattern")?;
    let kind = match super::optional_text(input, "kind") {
        Some("dir") => EntryKind::Folder,
        Some("file") => EntryKind::File,
        _ if folders_only => EntryKind::Folder,
        _ => EntryKind::Any,
    };
    let limit = super::limit(input, USUAL_LIMIT, MAX_LIMIT)?;
    let scope = match super::switch(input, "all") {
        true => Scope::All,
        false if glob.asks_for_hidden() => Scope::Hidden,
        false => Scope::Usual,
    };
    let name = super::optional_text(input, "path");
    let (root, prefix) = (report::folder(context, name)?, Prefix::new(name));

    let guard = Guard::new(context, Bounds::Readable);
    let walked = walk::walk(&root, &prefix, scope, context, &guard, &deadline, |entry, path| {
        if !glob.matches(path) {
            return None;
        }
        let file_type = entry.file_type()?;
        let is_folder = file_type.is_dir();
        let wanted = match kind {
            EntryKind::Any => true,
            // A link has the kind of its target.
            EntryKind::File if file_type.is_symlink() => {
                fs::metadata(entry.path()).is_ok_and(|target| target.is_file())
            }
            EntryKind::Folder if file_type.is_symlink() => {
                fs::metadata(entry.path()).is_ok_and(|target| target.is_dir())
            }
            EntryKind::File => file_type.is_file(),
            EntryKind::Folder => is_folder,
        };
        wanted.then(|| FoundPath { path: path.to_owned(), is_folder })
    })?;
    let mut found = walked.kept;
    found.sort_unstable();
    let total = found.len();
    found.truncate(limit);
    let line = |found: &FoundPath| format!("{}{}\n", prefix.show(&found.path), if found.is_folder { "/" } else { "" });
    let body: String = found.iter().map(line).collect();

    let mut notes = Vec::new();
    if total > limit {
        notes.push(format!("{limit} of {total} are shown. Narrow `pattern` or `path`, or raise `limit`"));
    }
    notes.extend(report::unspeakable(found.iter().map(|found| found.path.as_os_str())));
    notes.extend(report::unreadable(walked.problems));
    notes.extend(report::denied(walked.denied));
    if total == 0 && walked.stopped.is_none() {
        let what = match kind {
            EntryKind::Any => "Nothing",
            EntryKind::File => "No file",
            EntryKind::Folder => "No folder",
        };
        let left_out = match scope {
            Scope::All => "",
            Scope::Hidden => " Files ignored by .gitignore were left out; `all` = true includes them.",
            Scope::Visible => " Hidden files were left out.",
            Scope::Usual => " Hidden files and files ignored by .gitignore were left out; `all` = true includes them.",
        };
        let notes = report::finish("find", "", notes, context);
        let notes = if notes.is_empty() { notes } else { format!("\n\n{notes}") };
        return Ok(Outcome::text(format!("{what} in {} matches `{pattern}`.{left_out}{notes}", prefix.folder())));
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
