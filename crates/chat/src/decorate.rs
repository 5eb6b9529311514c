//! Decorations: the kinds of the lines on the screen. The cost is proportional to the number of lines requested.

use std::ops::Range;

use super::{BlockKind, Document, ResultBody, Speaker};

/// The kind of a line, for drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Frontmatter, including its fences.
    Frontmatter,
    /// A role marker.
    Marker(Speaker),
    /// The header of a tool use.
    ToolUse,
    /// The header of a tool result.
    ToolResult {
        /// Whether the header says ` (error)`.
        is_error: bool,
    },
    /// A line of thinking, with its tags.
    Thinking,
    /// The opening fence of a status block.
    Status,
    /// The opening fence of a result with attachments.
    Attachment,
    /// The abort marker.
    Aborted,
    /// An invalid tool header.
    Stray,
}

/// A line and its kind. Lines without decoration are left out. A marker's line occurs twice if something else starts on
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoration {
    /// The line.
    pub line: usize,
    /// Its kind.
    pub kind: LineKind,
}

/// The decorations of the lines in `range`, in order.
pub fn decorations(document: &Document, range: Range<usize>) -> Vec<Decoration> {
    let mut found = Vec::new();
    let mut push = |line: usize, kind| {
        if range.contains(&line) {
            found.push(Decoration { line, kind });
        }
    };
    let matter = document.frontmatter().map_or(0, |matter| matter.lines);
    (range.start..matter.min(range.end)).for_each(|line| push(line, LineKind::Frontmatter));
    for (_, message) in document.messages_in(range.clone()) {
        push(message.start, LineKind::Marker(message.role));
        for block in message.blocks_in(range.clone()) {
            let lines = message.lines_of(block);
            match &block.kind {
                BlockKind::Text | BlockKind::CodeFence(_) => {}
                BlockKind::Aborted => push(lines.start, LineKind::Aborted),
                BlockKind::Stray(_) => push(lines.start, LineKind::Stray),
                BlockKind::ToolUse(_) => push(lines.start, LineKind::ToolUse),
                BlockKind::ToolResult(tool) => {
                    push(lines.start, LineKind::ToolResult { is_error: tool.is_error });
                    let fence = message.fence_of(block).unwrap_or_default();
                    match &tool.body {
                        ResultBody::Placeholder(..) => push(fence, LineKind::Status),
                        ResultBody::Attached(..) => push(fence, LineKind::Attachment),
                        ResultBody::Output(_) | ResultBody::Missing => {}
                    }
                }
                BlockKind::Thinking => {
                    let shown = lines.start.max(range.start)..lines.end.min(range.end);
                    shown.for_each(|line| push(line, LineKind::Thinking));
                }
            }
        }
    }
    found
}
