//! Finding the references that are to be captured, and writing what they mean: see [`super::captured`].

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use super::{
    BlockKind, Capture, Document, EditorReference, LineRange, ParsedMessage, Position, Speaker, Text, TextEdit,
    captured::{cut_of, fence, reference_of},
    editor_reference::editor_references,
    reference::references,
};
use flemma_text::Fence;

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

impl Document {
    /// The references in what the user wrote last that are not captured yet, in order, each once in a message. Only the messages
    /// after the last reply are read.
    #[must_use]
    pub fn uncaptured(&self, text: &dyn Text) -> Vec<Uncaptured> {
        let last = self.messages.iter().rposition(|message| message.role == Speaker::Assistant);
        let after = self.messages.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
        let mut found = Vec::new();
        for message in after.iter().filter(|message| message.role == Speaker::You) {
            message.uncaptured(text, &mut found);
        }
        found
    }

    /// The first lines of what was captured, of which a line is in `range`, and the reference of each.
    #[must_use]
    pub fn captures_in(&self, range: Range<usize>, text: &dyn Text) -> Vec<(usize, String)> {
        let blocks = self.blocks_in(range);
        let fences = blocks.filter(|(_, block)| matches!(block.kind, BlockKind::CodeFence(code) if code.captured));
        let lines = fences.map(|(message, block)| message.lines_of(block).start);
        lines.filter_map(|line| Some((line, self.captured_at(line, text)?.0))).collect()
    }

    /// The reference that a line, the first of a block, says was captured, and how much of it is there if something was left out.
    #[must_use]
    pub fn captured_at(&self, line: usize, text: &dyn Text) -> Option<(String, Option<String>)> {
        let (message, block) = self.block_at(line)?;
        let message = &self.messages[message];
        let block = &message.blocks[block];
        let is_captured = matches!(block.kind, BlockKind::CodeFence(code) if code.captured);
        (is_captured && message.lines_of(block).start == line).then(|| {
            let line = text.line(line);
            let (_, info) = Fence::open(&line)?;
            Some((reference_of(info)?, cut_of(info)))
        })?
    }
}

impl ParsedMessage {
    fn uncaptured(&self, text: &dyn Text, found: &mut Vec<Uncaptured>) {
        let mut wanted: Vec<Uncaptured> = Vec::new();
        for block in &self.blocks {
            match &block.kind {
                BlockKind::Text => self.references_in(self.lines_of(block), text, &mut wanted),
                BlockKind::CodeFence(code) if code.captured => {
                    let info = text.line(self.lines_of(block).start);
                    if let Some(of) = Fence::open(&info).and_then(|(_, info)| reference_of(info)) {
                        wanted.retain(|uncaptured| uncaptured.written != of);
                    }
                }
                _ => {}
            }
        }
        found.extend(wanted);
    }

    fn references_in(&self, lines: Range<usize>, text: &dyn Text, found: &mut Vec<Uncaptured>) {
        self.read_prose(lines, text, &mut |line, _, prose| {
            let of_files = references(prose).into_iter().filter_map(|reference| {
                let literal = PathBuf::from(&reference.path);
                let target = match (reference.lines, reference.misspelt) {
                    (Some((path, lines)), _) => CaptureTarget::Lines { path: path.into(), lines, literal },
                    (None, Some(part)) => CaptureTarget::Misspelt { literal, part },
                    (None, None) => return None,
                };
                Some((reference.columns, target))
            });
            let of_editor = editor_references(prose).into_iter();
            let mut here: Vec<_> = of_files
                .chain(of_editor.map(|(columns, reference)| (columns, CaptureTarget::Editor(reference))))
                .collect();
            here.sort_by_key(|(columns, _)| columns.start);
            for (columns, target) in here {
                let written = prose[columns].to_owned();
                if !found.iter().any(|other| other.written == written) {
                    found.push(Uncaptured { line, written, target });
                }
            }
        });
    }
}

/// The edits that write captured references below the paragraphs that name them, in the order in which to apply them.
#[must_use]
pub fn write_captures(document: &Document, text: &dyn Text, captures: &[Capture]) -> Vec<TextEdit> {
    let mut below: BTreeMap<usize, Vec<&Capture>> = BTreeMap::new();
    for capture in captures {
        if let Some(last) = document.end_of_paragraph(capture.line, text) {
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
            return TextEdit::insert(Position { line: last, column: text.length(last) }, lines);
        }
        if !text.line(next).trim().is_empty() {
            lines.push(String::new());
        }
        lines.push(String::new());
        TextEdit::insert(Position { line: next, column: 0 }, lines)
    });
    edits.collect()
}

impl Document {
    /// The last line of the paragraph that a line of prose belongs to.
    fn end_of_paragraph(&self, line: usize, text: &dyn Text) -> Option<usize> {
        let (message, block) = self.block_at(line)?;
        let message = &self.messages[message];
        let end = message.lines_of(&message.blocks[block]).end;
        let is_blank = |line: &usize| text.line(*line).trim().is_empty();
        (line + 1..end).find(is_blank).or(Some(end)).map(|end| end - 1)
    }
}
