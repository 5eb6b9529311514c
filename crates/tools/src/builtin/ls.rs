//! `ls`: lists a folder.
//!
//! All names are shown, including hidden ones, sorted by bytes: folders with a `/`, links with their target, files with their
//! size, and anything else with its kind.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::ffi::OsStrExt,
};

use rustix::fs::{AtFlags, Dir, FileType, Stat, readlinkat, statat};
use serde_json::Value;

use super::{deadline::Deadline, files, guard::Guard, report, tool::Looking};
use crate::{Bounds, Context, Outcome, own_files::is_own_file};
use flemma_model::ModelError;
use flemma_text::{escape_controls, truncate::format_size};

/// The default for the number of names that are shown, and the maximum that a call can ask for.
const LIMIT: (usize, usize) = (500, 100_000);

/// The tool.
pub(super) const TOOL: Looking = Looking { look: ls, preview };

fn preview(input: &Value) -> Option<String> {
    match input.get("path") {
        None | Some(Value::Null) => Some(".".to_owned()),
        Some(path) => path.as_str().map(str::to_owned),
    }
}

fn ls(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context);
    let limit = super::limit(input, LIMIT)?;
    let name = super::optional_text(input, "path").unwrap_or(".");
    let path = context.resolve(name);
    let (mut names, mut problems, mut denied) = (Vec::new(), Vec::new(), 0);
    let guard = Guard::new(context, Bounds::Readable);
    let folder = guard.folder(&path, name)?;
    let (opened, folder) = guard.open_folder(&folder, name).map_err(|error| guard.told(error, &path, name))?;
    for entry in Dir::read_from(&opened).map_err(|error| guard.problem(&path, name, &error.into()))? {
        match entry.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()) {
            Ok(entry) if entry == "." || entry == ".." || is_own_file(&entry) => {}
            Ok(entry) if context.hides(&folder.join(&entry)) => denied += 1,
            Ok(entry) => names.push(entry),
            Err(error) => problems.push(format!("a part of {name} ({})", files::reason(&error.into()))),
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
        body.push_str(&describe(&opened, &name, &escape_controls(&name.to_string_lossy())));
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
fn describe(folder: &File, entry: &OsStr, name: &str) -> String {
    let Ok(found) = statat(folder, entry, AtFlags::SYMLINK_NOFOLLOW) else { return name.to_owned() };
    let kind = |found: &Stat| FileType::from_raw_mode(found.st_mode);
    match kind(&found) {
        FileType::Symlink => {
            let target = readlinkat(folder, entry, Vec::new()).unwrap_or_default();
            let target = target.to_string_lossy();
            let target = escape_controls(&target);
            match statat(folder, entry, AtFlags::empty()) {
                Ok(there) if kind(&there) == FileType::Directory => {
                    format!("{name} -> {}/", target.trim_end_matches('/'))
                }
                Ok(_) => format!("{name} -> {target}"),
                Err(_) => format!("{name} -> {target}  (broken link)"),
            }
        }
        FileType::RegularFile => format!("{name}  ({})", format_size(u64::try_from(found.st_size).unwrap_or(0))),
        FileType::Directory => format!("{name}/"),
        other => format!("{name}  ({})", files::other_kind(other).unwrap_or_default()),
    }
}
