//! Rules that approve a given call, for `tool:approve always`.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{PathBase, Rule, Subject, decide, options::is_ascii_text, script, word::Word, wrappers};
use crate::Decision;

/// The exact rules that would approve the same call next time, without wildcards; `None` if no rule can. Together they are
/// known to approve it, unless other rules deny it.
///
/// A command has one rule for each simple command in it. For [`Subject::Other`] there is none: the name of the tool
/// approves it.
pub fn suggest(tool: &str, subject: &Subject<'_>, path_base: &PathBase) -> Option<Vec<String>> {
    let entries = match subject {
        Subject::Command(command) => for_command(tool, command)?,
        Subject::Paths(paths) => for_paths(tool, paths, path_base)?,
        Subject::Other => return None,
    };
    let rules = entries.iter().map(|entry| Rule::parse(entry)).collect::<Result<Vec<_>, _>>().ok()?;
    (decide(&rules, tool, subject, path_base) == Some(Decision::Approve)).then_some(entries)
}

fn for_command(tool: &str, command: &str) -> Option<Vec<String>> {
    let mut entries = Vec::new();
    for run in script::read(command).runs {
        let mut run = run;
        for _ in 0..wrappers::MAX_DEPTH {
            let words: Option<Vec<String>> = run.assignments.iter().chain(&run.words).map(quoted).collect();
            let entry = format!("{tool}({})", words?.join(" "));
            if !entries.contains(&entry) {
                entries.push(entry);
            }
            match wrappers::unwrap(&run) {
                Some(wrappers::InnerCommand::Run(inner)) if !run.keyword => run = inner,
                _ => break,
            }
        }
    }
    Some(entries)
}

fn for_paths(tool: &str, paths: &[PathBuf], path_base: &PathBase) -> Option<Vec<String>> {
    let entry = |path: &PathBuf| Some(format!("{tool}({})", for_path(path, path_base)?));
    let mut entries = paths.iter().map(entry).collect::<Option<Vec<_>>>()?;
    let mut known = HashSet::new();
    entries.retain(|entry| known.insert(entry.clone()));
    Some(entries)
}

/// A word in the syntax of a rule, or `None` if it cannot be written.
fn quoted(word: &Word) -> Option<String> {
    let text = word.known().filter(|text| is_ascii_text(text) && !text.contains(['\n', '\t']))?;
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-./,:=+@%^".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return Some(text.to_owned());
    }
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}

/// A path in the syntax of a rule, relative to the path base if possible.
fn for_path(path: &Path, path_base: &PathBase) -> Option<String> {
    let path = path_base.disk.real(path);
    let base = path_base.disk.real(&path_base.folder);
    let path = match path.strip_prefix(&base) {
        Ok(rest) if rest.as_os_str().is_empty() => Path::new("."),
        Ok(rest) => rest,
        Err(_) => &path,
    };
    let text = path.to_str().filter(|text| !text.contains(char::is_control))?;
    let escaped: String = text.chars().map(escaped).collect();
    // `~` would be the home folder, and a space would not be part of the pattern.
    let here = if escaped.starts_with(['~', ' ']) { "./" } else { "" };
    Some(format!("{here}{escaped}"))
}

/// A character of a path, escaped for a glob.
fn escaped(character: char) -> String {
    match character {
        '\\' => r"\\".to_owned(),
        '*' | '?' | '[' | ']' | '{' | '}' => format!("[{character}]"),
        character => character.to_string(),
    }
}
