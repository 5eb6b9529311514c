//! Regions: which lines on the screen are Markdown and which are code.
//!
//! The highlighter asks for the regions on the screen and highlights each one separately. So the cost is proportional
//! to the screen, and a fence that a model forgot to close ends with its message.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, ResultBody};

/// Lines that are highlighted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The lines. Code does not include its fences and may be empty.
    pub lines: Range<usize>,
    /// For code, the line of the opening fence, whose info string names the language. `None` for Markdown.
    pub fence: Option<usize>,
}

impl Document {
    /// The regions that overlap the lines in `range`, in order and complete. Lines with a highlight of their own are
    /// left out: frontmatter, thinking, status blocks, attachments and tool headers.
    #[must_use]
    pub fn regions(&self, range: Range<usize>) -> Vec<Region> {
        self.blocks_in(range).filter_map(|(message, block)| message.region(block)).collect()
    }
}

impl ParsedMessage {
    fn region(&self, block: &Block) -> Option<Region> {
        let lines = self.lines_of(block);
        let fence = match &block.kind {
            BlockKind::Text => return Some(Region { lines, fence: None }),
            BlockKind::CodeFence(_) => lines.start,
            BlockKind::ToolUse(tool) => lines.start + tool.input?.line as usize,
            BlockKind::ToolResult(tool) => match tool.body {
                ResultBody::Output(fence) => lines.start + fence.line as usize,
                ResultBody::Attached(..) | ResultBody::Placeholder(..) | ResultBody::Missing => return None,
            },
            BlockKind::Thinking | BlockKind::Aborted | BlockKind::Stray(_) => return None,
        };
        let end = code_end(lines.end, block.closed).max(fence + 1);
        Some(Region { lines: fence + 1..end, fence: Some(fence) })
    }
}

fn code_end(end: usize, closed: bool) -> usize {
    if closed { end.saturating_sub(1) } else { end }
}
