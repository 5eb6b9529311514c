//! Captured references: what `@diff`, `@diagnostics` or `@./a.rs#L10-L20` meant when the message was sent.
//!
//! ````text
//! @You:
//! What is wrong here? @diagnostics
//!
//! ```flemma:captured of="@diagnostics"
//! src/a.rs: 1 diagnostic
//! 12:5 error: no such field
//! ```
//! ````
//!
//! The fence is below the paragraph with the reference, in the same message, and is sent as a part of it. So every later
//! request says the same, whatever has become of the editor and its files. A reference that has its fence is not captured
//! again. What is in the fence is nobody's message: it is escaped, and the fence is longer than any in it.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use super::{
    Block, BlockKind, Document, EditorReference, LineRange, ParsedMessage, Position, Speaker, Text, TextEdit,
    attributes, editor_reference, escape, reference::references,
};
use flemma_text::Fence;

/// The first word of the info string.
const INFO: &str = "flemma:captured";

/// The attribute that names the reference.
const OF: &str = "of";

/// The attribute that says how much of it is there.
const CUT: &str = "cut";

/// What a reference was when it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The line of the reference.
    pub line: usize,
    /// The reference as it is written.
    pub written: String,
    /// What it says, as plain text.
    pub content: String,
    /// How much of it is there, if something was left out for want of room: `512 of 3000 lines`.
    pub cut: Option<String>,
}

/// The reference that an info string says was captured; `None` if it is no such info string.
pub(super) fn reference_of(info: &str) -> Option<String> {
    attribute(info, OF)
}

/// The reference that a block says was captured, and how much of it is there if something was left out.
pub(super) fn captured_at(message: &ParsedMessage, block: &Block, text: &dyn Text) -> Option<(String, Option<String>)> {
    if !block.is_captured() {
        return None;
    }
    let line = text.line(message.lines_of(block).start);
    let (_, info) = Fence::open(&line)?;
    Some((reference_of(info)?, attribute(info, CUT)))
}

/// The first lines of what was captured, of which a line is in `range`, and the reference of each.
pub fn captures_in(document: &Document, range: Range<usize>, text: &dyn Text) -> Vec<(usize, String)> {
    let captured = document
        .blocks_in(range)
        .filter_map(|(message, block)| Some((message.lines_of(block).start, captured_at(message, block, text)?.0)));
    captured.collect()
}

fn attribute(info: &str, key: &str) -> Option<String> {
    let (word, words) = attributes::split(info);
    let mut attributes = attributes::read(words).into_iter().filter(|_| word == INFO);
    let found = attributes.find(|attribute| attribute.key == key && attribute.sound)?;
    found.value.map(std::borrow::Cow::into_owned)
}

/// A blank line, and the fence.
pub(super) fn fence(capture: &Capture) -> Vec<String> {
    let tidy = |line: &str| -> String {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
    };
    let content: Vec<String> = capture.content.lines().map(|line| escape(&tidy(line)).into_owned()).collect();
    let marks = Fence::around(&content.join("\n")).marks();
    let cut = capture.cut.as_ref().map_or_else(String::new, |cut| format!(" {CUT}={}", attributes::quote(cut)));
    let info = format!("{marks}{INFO} {OF}={}{cut}", attributes::quote(&capture.written));
    [String::new(), info].into_iter().chain(content).chain([marks]).collect()
}

/// A reference in the user's last message whose content is not captured yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncaptured {
    /// The line.
    pub line: usize,
    /// The reference as it is written, with its `@`.
    pub written: String,
    /// What it refers to.
    pub target: CaptureTarget,
}

/// What is captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureTarget {
    /// Lines of a file.
    Lines {
        /// The path of the file: relative, with `~`, or absolute.
        path: PathBuf,
        /// The lines.
        lines: LineRange,
        /// The path with the lines in its name. If there is such a file, it is meant.
        literal: PathBuf,
    },
    /// A file whose name ends like lines that are not written as they should be. It is attached if it is there.
    Misspelt {
        /// The path of the file.
        literal: PathBuf,
        /// The end of the name, with its `#`.
        part: String,
    },
    /// What the editor shows.
    Editor(EditorReference),
}

/// The references in what the user wrote last that are not captured yet, in order, each once in a message. Only the messages
/// after the last reply are read.
pub fn uncaptured(document: &Document, text: &dyn Text) -> Vec<Uncaptured> {
    let messages = document.after_last_reply().iter().filter(|message| message.role == Speaker::You);
    messages.flat_map(|message| uncaptured_in(message, text)).collect()
}

fn uncaptured_in(message: &ParsedMessage, text: &dyn Text) -> Vec<Uncaptured> {
    let mut wanted: Vec<Uncaptured> = Vec::new();
    for block in &message.blocks {
        if let Some((of, _)) = captured_at(message, block, text) {
            wanted.retain(|uncaptured| uncaptured.written != of);
        } else if block.kind == BlockKind::Text {
            message.read_prose(message.lines_of(block), text, &mut |line, _, prose| {
                for (columns, target) in targets(prose) {
                    let written = prose[columns].to_owned();
                    if !wanted.iter().any(|other| other.written == written) {
                        wanted.push(Uncaptured { line, written, target });
                    }
                }
            });
        }
    }
    wanted
}

/// What is captured of a line of prose, in order, each with its range in bytes.
fn targets(prose: &str) -> Vec<(Range<usize>, CaptureTarget)> {
    let of_files = references(prose).into_iter().filter_map(|reference| {
        let literal = PathBuf::from(&reference.path);
        let target = match (reference.lines, reference.misspelt) {
            (Some((path, lines)), _) => CaptureTarget::Lines { path: path.into(), lines, literal },
            (None, Some(part)) => CaptureTarget::Misspelt { literal, part },
            (None, None) => return None,
        };
        Some((reference.columns, target))
    });
    let of_editor = editor_reference::references_in(prose).into_iter();
    let of_editor = of_editor.map(|(columns, reference)| (columns, CaptureTarget::Editor(reference)));
    let mut found: Vec<_> = of_files.chain(of_editor).collect();
    found.sort_by_key(|(columns, _)| columns.start);
    found
}

/// The edits that write captured references below the paragraphs that name them, in the order in which to apply them.
pub fn write_captures(document: &Document, text: &dyn Text, captures: &[Capture]) -> Vec<TextEdit> {
    let mut below: BTreeMap<usize, Vec<&Capture>> = BTreeMap::new();
    for capture in captures {
        if let Some(last) = end_of_paragraph(document, capture.line, text) {
            below.entry(last).or_default().push(capture);
        }
    }
    let count = text.line_count();
    // From the bottom up, so that an edit does not move the places of the others.
    let edits = below.into_iter().rev().map(|(last, captures)| {
        let mut lines: Vec<String> = captures.into_iter().flat_map(fence).collect();
        let next = last + 1;
        if next >= count {
            lines.insert(0, String::new());
            return TextEdit::insert(Position::end_of(last, text), lines);
        }
        if !text.line(next).trim().is_empty() {
            lines.push(String::new());
        }
        lines.push(String::new());
        TextEdit::insert(Position::start_of(next), lines)
    });
    edits.collect()
}

/// The last line of the paragraph that a line of prose belongs to.
fn end_of_paragraph(document: &Document, line: usize, text: &dyn Text) -> Option<usize> {
    let (message, block) = document.block_at(line)?;
    let message = &document.messages()[message];
    let end = message.lines_of(&message.blocks[block]).end;
    let is_blank = |line: &usize| text.line(*line).trim().is_empty();
    (line + 1..end).find(is_blank).or(Some(end)).map(|end| end - 1)
}
