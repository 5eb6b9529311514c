//! Regions: which lines on the screen are Markdown and which are code.
//!
//! The highlighter asks for the regions on the screen and highlights each one separately. So the cost is proportional
//! to the screen, and a fence that a model forgot to close ends with its message.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, ResultBody};

/// The number of blocks of a message that are looked at to see whether it has results.
const LOOKED_AT: usize = 256;

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

    /// The first lines of the message and of the block that a line is in, as far as what is drawn over them tells of the lines
    /// below: a message says whether it has nothing but results, and a block how long it is. Over prose and code nothing is
    /// drawn. With `all`, also those of which that may have been true before a change.
    #[must_use]
    pub fn heads_of(&self, line: usize, all: bool) -> Vec<usize> {
        let message = self.message_at(line).and_then(|message| self.messages().get(message));
        let block = self
            .block_at(line)
            .zip(message)
            .and_then(|((_, block), message)| Some((message, message.blocks.get(block)?)));
        let block = block.filter(|(_, block)| all || !matches!(block.kind, BlockKind::Text | BlockKind::CodeFence(_)));
        let message = message.filter(|message| all || message.begins_with_results());
        let marker = message.map(|message| message.start);
        marker.into_iter().chain(block.map(|(message, block)| message.lines_of(block).start)).collect()
    }
}

impl ParsedMessage {
    /// Whether there are results among its first blocks.
    fn begins_with_results(&self) -> bool {
        self.blocks.iter().take(LOOKED_AT).any(|block| matches!(block.kind, BlockKind::ToolResult(_)))
    }

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
