//! Decorations: the kinds of the lines on the screen. The cost is proportional to the number of lines requested.

use std::ops::Range;

use super::{BlockKind, Document, ParsedMessage, ResultBody, Speaker, Status};

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
    /// `<thinking>`.
    ThinkingOpen,
    /// A line of thinking.
    Thinking,
    /// `</thinking>`.
    ThinkingClose,
    /// The opening fence of a status block.
    Status(Status),
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

impl Document {
    /// The decorations of the lines in `range`, in order.
    #[must_use]
    pub fn decorations(&self, range: Range<usize>) -> Vec<Decoration> {
        let mut found = Vec::new();
        if let Some(matter) = &self.frontmatter {
            let end = matter.lines.min(range.end);
            found.extend((range.start..end).map(|line| Decoration { line, kind: LineKind::Frontmatter }));
        }
        for message in self.messages_in(range.clone()) {
            message.decorate(&range, &mut found);
        }
        found
    }
}

impl ParsedMessage {
    fn decorate(&self, range: &Range<usize>, found: &mut Vec<Decoration>) {
        let mut push = |line: usize, kind| {
            if range.contains(&line) {
                found.push(Decoration { line, kind });
            }
        };
        push(self.start, LineKind::Marker(self.role));
        let from = range.start.saturating_sub(self.start);
        let first = self.blocks.partition_point(|block| block.end() <= from);
        for block in &self.blocks[first..] {
            let lines = self.lines_of(block);
            if lines.start >= range.end {
                break;
            }
            match &block.kind {
                BlockKind::Text | BlockKind::CodeFence(_) => {}
                BlockKind::Aborted => push(lines.start, LineKind::Aborted),
                BlockKind::Stray(_) => push(lines.start, LineKind::Stray),
                BlockKind::ToolUse(_) => push(lines.start, LineKind::ToolUse),
                BlockKind::ToolResult(tool) => {
                    push(lines.start, LineKind::ToolResult { is_error: tool.is_error });
                    match &tool.body {
                        ResultBody::Placeholder(fence, status) => {
                            push(lines.start + fence.line as usize, LineKind::Status(status.status));
                        }
                        ResultBody::Attached(fence, _) => {
                            push(lines.start + fence.line as usize, LineKind::Attachment);
                        }
                        ResultBody::Output(_) | ResultBody::Missing => {}
                    }
                }
                BlockKind::Thinking => {
                    push(lines.start, LineKind::ThinkingOpen);
                    let close = if block.closed { lines.end - 1 } else { lines.end };
                    for line in (lines.start + 1).max(range.start)..close.min(range.end) {
                        push(line, LineKind::Thinking);
                    }
                    if block.closed {
                        push(close, LineKind::ThinkingClose);
                    }
                }
            }
        }
    }
}
