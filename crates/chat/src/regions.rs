//! Regions: which lines on the screen are Markdown and which are code.
//!
//! The highlighter asks for the regions on the screen and highlights each one separately. So the cost is proportional
//! to the screen, and a fence that a model forgot to close ends with its message.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, ResultBody, block::LOOKED_AT};

/// Lines that are highlighted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The lines. Code does not include its fences and may be empty.
    pub lines: Range<usize>,
    /// For code, the line of the opening fence, whose info string names the language. `None` for Markdown.
    pub fence: Option<usize>,
}

/// The regions that overlap the lines in `range`, in order and complete. Lines with a highlight of their own are
/// left out: frontmatter, thinking, status blocks, attachments and tool headers.
pub fn regions(document: &Document, range: Range<usize>) -> Vec<Region> {
    document.blocks_in(range).filter_map(|(message, block)| region(message, block)).collect()
}

/// The first lines of the message and of the block that a line is in, as far as what is drawn over them tells of the lines
/// below: a message says whether it has nothing but results, and a block how long it is. Over prose and code nothing is
/// drawn. With `all`, also those of which that may have been true before a change.
pub fn heads_of(document: &Document, line: usize, all: bool) -> Vec<usize> {
    let Some(message) = document.message_at(line).map(|index| &document.messages()[index]) else { return Vec::new() };
    let begins_with_results = || message.blocks.iter().take(LOOKED_AT).any(|block| block.tool_result().is_some());
    let block = document.block_at(line).map(|(_, block)| &message.blocks[block]);
    let block = block.filter(|block| all || !matches!(block.kind, BlockKind::Text | BlockKind::CodeFence(_)));
    let marker = (all || begins_with_results()).then_some(message.start);
    marker.into_iter().chain(block.map(|block| message.lines_of(block).start)).collect()
}

fn region(message: &ParsedMessage, block: &Block) -> Option<Region> {
    let is_code = match &block.kind {
        BlockKind::Text => return Some(Region { lines: message.lines_of(block), fence: None }),
        BlockKind::CodeFence(_) | BlockKind::ToolUse(_) => true,
        BlockKind::ToolResult(tool) => matches!(tool.body, ResultBody::Output(_)),
        BlockKind::Thinking | BlockKind::Aborted | BlockKind::Stray(_) => false,
    };
    let lines = message.inside(block).filter(|_| is_code)?;
    Some(Region { fence: Some(lines.start - 1), lines })
}
