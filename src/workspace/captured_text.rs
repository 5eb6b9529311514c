//! The text of captured references: what the user reads in the conversation, and what the model is sent.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::editor_view::{EditorItem, EditorView};
use crate::{
    chat::EditorSubject,
    model::UserError,
    runtime::{FileLines, GitDiff},
    text::{
        escape_controls,
        truncate::{Limits, format_size, truncate_head},
    },
    tools::{Permitted, rules::DeniedPaths},
};

/// What a model may be told about.
#[derive(Clone)]
pub(super) struct Readable {
    /// Where relative paths of the conversation start.
    pub(super) folder: PathBuf,
    /// What the user denies reading.
    pub(super) denied: Arc<DeniedPaths>,
    /// What the agents of the conversation permit.
    pub(super) permitted: Arc<Permitted>,
}

impl Readable {
    /// Whether a file or a buffer of this name may be told about. It may block on the disk.
    pub(super) fn allows(&self, name: &Path) -> bool {
        self.denied.allows(&self.folder, name) && self.permitted.allows_name(&self.folder, name)
    }

    /// A name as it is shown: relative to the conversation's folder if it is in it.
    fn shown(&self, name: &Path) -> String {
        let short = name.strip_prefix(&self.folder).unwrap_or(name).to_string_lossy();
        if short.is_empty() { "a buffer without a name".to_owned() } else { escape_controls(&short).into_owned() }
    }
}

/// Lines of a file.
pub(super) fn of_lines(found: &FileLines) -> String {
    let name = found.path.to_string_lossy();
    let head = format!("{}, {}", escape_controls(&name), span(found.first, found.lines.len(), found.total));
    text(&head, &numbered(found.first, &found.lines), 0)
}

/// What the editor shows. It may block on the disk.
///
/// # Errors
/// When the model may not be told about the file.
pub(super) fn of_view(subject: EditorSubject, view: &EditorView, readable: &Readable) -> Result<String, UserError> {
    let name = readable.shown(&view.name);
    if subject != EditorSubject::Quickfix && !readable.allows(&view.name) {
        return Err(UserError::new(format!("reading {name} is denied by your rules, or by the agent")));
    }
    let unsaved = if view.is_modified { ", with changes that are not saved" } else { "" };
    let lines = || numbered(view.first, &view.lines);
    let hidden = view.total.saturating_sub(view.lines.len());
    Ok(match subject {
        EditorSubject::Buffer => text(&format!("{name}, {}{unsaved}", count(view.total, "line")), &lines(), hidden),
        EditorSubject::Symbol => {
            let symbol = if view.symbol.is_empty() { String::new() } else { format!(" `{}`", plain(&view.symbol)) };
            let last = view.first + view.total.max(1) - 1;
            let head = format!("{name}, lines {} to {last}:{symbol}{unsaved}", view.first);
            text(&head, &lines(), hidden)
        }
        EditorSubject::Diagnostics => {
            let (items, left_out) = items(&view.items, readable);
            let head = format!("{name}: {}{unsaved}", count(view.items.len() + view.more, "diagnostic"));
            text(&head, &items, view.more) + &denied(left_out, "diagnostic")
        }
        EditorSubject::Quickfix => {
            let (items, left_out) = items(&view.items, readable);
            // Its title is the command that made it, which may say what nobody may read.
            let head = format!("quickfix list: {}", count(view.items.len() + view.more, "entry"));
            text(&head, &items, view.more) + &denied(left_out, "entry")
        }
        EditorSubject::Diff => return Err(UserError::new("the editor does not know the differences")),
    })
}

/// What `git diff` says.
pub(super) fn of_diff(found: &GitDiff) -> String {
    let root = found.root.to_string_lossy();
    let head = format!("git diff in {}", escape_controls(&root));
    let diff = String::from_utf8_lossy(&found.text);
    let lines: Vec<String> = diff.lines().map(str::to_owned).collect();
    let lines = if lines.is_empty() { vec!["no differences".to_owned()] } else { lines };
    let hidden = usize::try_from(found.lines).unwrap_or(usize::MAX).saturating_sub(lines.len());
    let more = match found.more {
        0 => String::new(),
        more => format!("\n[More files differ: at least {more}.]"),
    };
    text(&head, &lines, hidden) + &more + &denied(found.denied, "file")
}

/// A first line, and lines below it, as far as there is room. `hidden` more follow that are not among them.
fn text(head: &str, lines: &[String], hidden: usize) -> String {
    let all = lines.join("\n");
    let cut = truncate_head(&all, Limits::default());
    let left_out = lines.len() - cut.output_lines.min(lines.len()) + hidden;
    let mut text = format!("{head}\n{}", cut.content);
    if left_out > 0 {
        let (total, shown) = (lines.len() + hidden, cut.output_lines);
        let size = format_size(Limits::default().bytes as u64);
        text.push_str(&format!("\n[{shown} of {total} lines are here. The rest is left out: up to {size} are sent.]"));
    }
    text
}

fn denied(number: usize, thing: &str) -> String {
    match number {
        0 => String::new(),
        number => format!("\n[{} left out, because reading there is denied.]", count(number, thing)),
    }
}

/// The items that a model may be told about, and the number of the others.
fn items(items: &[EditorItem], readable: &Readable) -> (Vec<String>, usize) {
    let mut allowed: HashMap<&Path, bool> = HashMap::new();
    let (mut lines, mut left_out) = (Vec::new(), 0);
    for item in items {
        let is_allowed = *allowed.entry(&item.name).or_insert_with(|| readable.allows(&item.name));
        if is_allowed {
            lines.extend(entry(item, readable));
        } else {
            left_out += 1;
        }
    }
    (lines, left_out)
}

/// An item, with the lines of its text below it.
fn entry(item: &EditorItem, readable: &Readable) -> Vec<String> {
    let place = match (item.line, item.column) {
        (0, _) => String::new(),
        (line, 0) => format!(":{line}"),
        (line, column) => format!(":{line}:{column}"),
    };
    let mut words = item.text.lines();
    let kind = if item.kind.is_empty() { String::new() } else { format!(" {}:", item.kind) };
    let first = words.next().unwrap_or_default();
    let name = if item.name.as_os_str().is_empty() { String::new() } else { readable.shown(&item.name) };
    let head = format!("{name}{place}{kind} {first}").trim().to_owned();
    std::iter::once(head).chain(words.map(|line| format!("    {line}"))).collect()
}

/// The lines with their numbers.
fn numbered(first: usize, lines: &[String]) -> Vec<String> {
    let width = (first + lines.len()).to_string().len();
    lines.iter().enumerate().map(|(at, line)| format!("{:>width$}\t{line}", first + at)).collect()
}

/// Which lines of a file these are.
fn span(first: usize, number: usize, total: usize) -> String {
    match number {
        1 => format!("line {first} of {total}"),
        number => format!("lines {first} to {} of {total}", first + number.max(1) - 1),
    }
}

fn count(number: usize, thing: &str) -> String {
    match (number, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (number, Some(stem)) => format!("{number} {stem}ies"),
        (number, None) => format!("{number} {thing}s"),
    }
}

/// A name on one line, without backticks.
fn plain(name: &str) -> String {
    escape_controls(name).replace('`', "'")
}
