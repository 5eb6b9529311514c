//! The text of captured references: what the user reads in the conversation, and what the model is sent.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use flemma_chat::EditorSubject;
use flemma_model::{DISK_ONLY, UserError};
use flemma_runtime::FileLines;
use flemma_text::{
    escape_controls,
    truncate::{Limits, format_size, truncate_head},
};
use flemma_tools::builtin::Readable;

/// A reference to the editor, with the absolute path that it is limited to.
pub type LookedUp = (EditorSubject, Option<PathBuf>);

/// What the host has found for one reference, or why it has found nothing.
pub(crate) type Found = Result<EditorView, UserError>;

/// What the host has found for one reference to the editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorView {
    /// The absolute path of the file, or the name of the buffer; empty for a buffer without a name.
    pub name: PathBuf,
    /// Whether the buffer has changes that its file lacks.
    pub is_modified: bool,
    /// The number of the first of `lines`, from 1.
    pub first: usize,
    /// Lines of the buffer. The host may stop where no more would be sent.
    pub lines: Vec<String>,
    /// The number of lines of the buffer, or of the symbol.
    pub total: usize,
    /// The name of the symbol.
    pub symbol: String,
    /// Diagnostics, or entries of the quickfix list. The host may stop where no more would be sent.
    pub items: Vec<EditorItem>,
    /// How many items there are beyond those.
    pub more: usize,
}

/// A place in a file, and what is said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorItem {
    /// The absolute path of the file, or the name of the buffer.
    pub name: PathBuf,
    /// The line, from 1; 0 if it has none.
    pub line: usize,
    /// The column in characters, from 1; 0 if it has none.
    pub column: usize,
    /// What it is, like `error`.
    pub kind: String,
    /// What it says.
    pub text: String,
}

/// What a reference means, as it is written into the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CapturedText {
    /// The text.
    pub(crate) content: String,
    /// How much of it is there, if something was left out for want of room: `512 of 3000 lines`.
    pub(crate) cut: Option<String>,
    /// What the user should know, each the end of a sentence that begins with the reference.
    pub(crate) warnings: Vec<String>,
}

impl CapturedText {
    /// The same, with more text at the end.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.content.push_str(more);
        self
    }
}

/// What a reference came to; `None` for a file that is attached instead.
pub(crate) type Outcome = Result<Option<CapturedText>, UserError>;

/// A name as it is shown: relative to the conversation's folder if it is in it.
fn shown(readable: &Readable, name: &Path) -> String {
    let short = name.strip_prefix(readable.folder()).unwrap_or(name).to_string_lossy();
    if short.is_empty() { "a buffer without a name".to_owned() } else { escape_controls(&short).into_owned() }
}

/// Lines of a file, as they are on the disk. `is_unsaved` says whether the editor has changes of it.
pub(crate) fn of_lines(found: &FileLines, is_unsaved: bool) -> CapturedText {
    let name = found.path.to_string_lossy();
    let unsaved = if is_unsaved { format!(", {DISK_ONLY}") } else { String::new() };
    let head = format!("{}, {}{unsaved}", escape_controls(&name), span(found.first, found.lines.len(), found.total));
    text(&head, &numbered(found.first, &found.lines), 0)
}

/// What the editor shows. It may block on the disk.
///
/// # Errors
/// When the model may not be told about the file.
pub(crate) fn of_view(subject: EditorSubject, view: &EditorView, readable: &Readable) -> Outcome {
    let name = shown(readable, &view.name);
    if subject != EditorSubject::Quickfix
        && let Some(problem) = readable.problem(&view.name)
    {
        return Err(UserError::new(format!("{name}: {problem}")));
    }
    if subject == EditorSubject::Buffer && view.total <= 1 && view.lines.iter().all(String::is_empty) {
        return Err(UserError::new(format!("the buffer is empty ({name})")));
    }
    let unsaved = if view.is_modified { ", with unsaved changes" } else { "" };
    let lines = || numbered(view.first, &view.lines);
    let hidden = view.total.saturating_sub(view.lines.len());
    Ok(Some(match subject {
        EditorSubject::Buffer => text(&format!("{name}, {}{unsaved}", count(view.total, "line")), &lines(), hidden),
        EditorSubject::Symbol => {
            let name_of_symbol = escape_controls(&view.symbol).replace('`', "'");
            let symbol = if name_of_symbol.is_empty() { name_of_symbol } else { format!(" `{name_of_symbol}`") };
            let last = view.first + view.total.max(1) - 1;
            let head = format!("{name}, lines {} to {last}:{symbol}{unsaved}", view.first);
            text(&head, &lines(), hidden)
        }
        EditorSubject::Diagnostics => {
            let (items, denied) = items(&view.items, readable);
            let head = format!("{name}: {}{unsaved}", count(view.items.len() + view.more, "diagnostic"));
            text(&head, &items, view.more).and(&left_out(denied, "diagnostic"))
        }
        EditorSubject::Quickfix => {
            let (items, denied) = items(&view.items, readable);
            // Its title is the command that made it, which may say what nobody may read.
            let head = format!("quickfix list: {}", count(view.items.len() + view.more, "entry"));
            text(&head, &items, view.more).and(&left_out(denied, "entry"))
        }
        EditorSubject::Diff => return Err(UserError::new("the editor has no diff")),
    }))
}

/// A first line, and lines below it, as far as there is room. `hidden` more follow that are not among them.
pub(crate) fn text(head: &str, lines: &[String], hidden: usize) -> CapturedText {
    let limits = Limits::default();
    let all = lines.join("\n");
    let cut = truncate_head(&all, limits);
    let size = format_size(limits.bytes as u64);
    let (total, shown) = (lines.len() + hidden, cut.output_lines);
    if shown >= total && !cut.first_line_exceeds_limit {
        return CapturedText { content: format!("{head}\n{}", cut.content), ..CapturedText::default() };
    }
    let (body, here, part, sent) = if cut.first_line_exceeds_limit {
        let of = if total == 1 { "its line".to_owned() } else { format!("the first of {total} lines") };
        // Without the beginning of its line, a reference to one line would say nothing.
        let first = &lines[0][..lines[0].floor_char_boundary(limits.bytes)];
        let part = format!("part of {}", count(total, "line"));
        (first, format!("Only the beginning of {of} is"), part, format!("only the beginning of {of} is"))
    } else {
        let part = format!("{shown} of {total} lines");
        (&*cut.content, format!("{part} are"), part, format!("only the first {shown} of {total} lines are"))
    };
    CapturedText {
        content: format!("{head}\n{body}\n[{here} here. The rest is left out: up to {size} are sent.]"),
        cut: Some(part),
        warnings: vec![format!("{sent} sent; the limit is {size}")],
    }
}

/// What is said of things that may not be read.
pub(crate) fn left_out(number: usize, thing: &str) -> String {
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
        let is_allowed = *allowed.entry(&item.name).or_insert_with(|| readable.problem(&item.name).is_none());
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
    let name = if item.name.as_os_str().is_empty() { String::new() } else { shown(readable, &item.name) };
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

/// A number of things, in words.
pub(crate) fn count(number: usize, thing: &str) -> String {
    match (number, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (number, Some(stem)) => format!("{number} {stem}ies"),
        (number, None) => format!("{number} {thing}s"),
    }
}
