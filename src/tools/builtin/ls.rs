//! `ls`: lists a folder.
//!
//! All names are shown, including hidden ones, sorted by bytes: folders with a `/`, links with their target, files with their
//! size, and anything else with its kind.

use std::{ffi::OsString, fs, path::Path, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{deadline::Deadline, files, report};
use crate::{
    model::ModelError,
    text::{escape_controls, truncate::format_size},
    tools::{Context, Definition, NativeTool, Outcome, preview},
};

/// The default for the number of names that are shown.
const USUAL_LIMIT: usize = 500;

/// The maximum number of names that a call can ask for.
const MAX_LIMIT: usize = 100_000;

struct Ls;

pub(super) fn definition() -> Definition {
    let mut definition = super::harmless(super::define(
        "ls",
        "List a folder, including hidden files: one name per line, sorted. Folders end in /, links show their target, \
         and files show their size.",
        json!({
            "path": { "type": ["string", "null"], "description": "The folder; null for the conversation's folder." },
            "limit": { "type": ["integer", "null"], "description": "How many names to show; null for 500." },
        }),
        Ls,
    ));
    definition.read_path_param = Some("path".into());
    definition.leaves_out_denied = true;
    definition
}

impl NativeTool for Ls {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        super::searching(context, move |context| ls(&input, context).unwrap_or_else(Outcome::failure)).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let path = match input.get("path") {
            None | Some(Value::Null) => ".",
            Some(path) => path.as_str()?,
        };
        Some(preview::labelled(path.to_owned(), input))
    }
}

fn ls(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context);
    let limit = super::limit(input, USUAL_LIMIT, MAX_LIMIT)?;
    let name = super::optional_text(input, "path").unwrap_or(".");
    let path = context.resolve(name);
    let folder = report::folder(context, Some(name))?;
    let problem = |error| files::problem(&path, name, &error);
    let (mut names, mut problems, mut denied) = (Vec::new(), Vec::new(), 0);
    for entry in fs::read_dir(&path).map_err(problem)? {
        match entry {
            Ok(entry) if context.denied.contains(&folder.join(entry.file_name())) => denied += 1,
            Ok(entry) => names.push(entry.file_name()),
            Err(error) => problems.push(format!("a part of {name} ({})", files::reason(&error))),
        }
        if let Some(stopped) = deadline.stopped() {
            return Ok(stopped.outcome(String::new(), &format!("{name} has at least {} names.", names.len())));
        }
    }
    names.sort_unstable();
    let total = names.len();
    names.truncate(limit);
    let unspeakable = report::unspeakable(names.iter().map(OsString::as_os_str));
    let mut body = String::new();
    for name in names {
        if let Some(stopped) = deadline.stopped() {
            return Ok(stopped.outcome(body, "Ask for fewer names with `limit`."));
        }
        body.push_str(&describe(&path.join(&name), &escape_controls(&name.to_string_lossy())));
        body.push('\n');
    }
    let mut notes = Vec::new();
    if total > limit {
        notes.push(format!("{limit} of {total} are shown. Raise `limit`, or search for names with `find`"));
    }
    notes.extend(unspeakable);
    notes.extend(report::unreadable(problems));
    notes.extend(report::denied(denied));
    if total == 0 && notes.is_empty() {
        return Ok(Outcome::text("(empty folder)"));
    }
    Ok(Outcome::text(report::finish("ls", &body, notes, context)))
}

/// An entry of a folder. If it no longer exists, only its name is shown.
fn describe(path: &Path, name: &str) -> String {
    let Ok(metadata) = fs::symlink_metadata(path) else { return name.to_owned() };
    if metadata.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        let target = target.to_string_lossy();
        let target = escape_controls(&target);
        return match fs::metadata(path) {
            Ok(there) if there.is_dir() => format!("{name} -> {}/", target.trim_end_matches('/')),
            Ok(_) => format!("{name} -> {target}"),
            Err(_) => format!("{name} -> {target}  (broken link)"),
        };
    }
    match files::kind(metadata.file_type()) {
        None => format!("{name}  ({})", format_size(metadata.len())),
        Some(files::OtherFile::Directory) => format!("{name}/"),
        Some(kind) => format!("{name}  ({kind})"),
    }
}
