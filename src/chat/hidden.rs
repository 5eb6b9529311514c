//! Lines that a reader need not see: the input of a call, the fences around a result, the end of thinking.
//!
//! The editor hides them while the cursor is in another block. A block that is not complete is not hidden.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, ResultBody};

/// Lines of one block that are hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The lines of the block.
    pub block: Range<usize>,
    /// Those of them that are hidden, in order.
    pub lines: Vec<Range<usize>>,
}

impl Document {
    /// The hidden lines of the blocks that overlap the lines in `range`, in order.
    #[must_use]
    pub fn hidden(&self, range: Range<usize>) -> Vec<Hidden> {
        self.blocks_in(range).filter_map(|(message, block)| message.hidden(block)).collect()
    }
}

impl ParsedMessage {
    fn hidden(&self, block: &Block) -> Option<Hidden> {
        if !block.closed {
            return None;
        }
        let all = self.lines_of(block);
        // The header, or the tag, stays.
        let (after, last) = (all.start + 1, all.end.saturating_sub(1));
        let mut lines = match &block.kind {
            BlockKind::ToolUse(tool) => {
                tool.input?;
                Vec::from_iter(Some(after..all.end))
            }
            BlockKind::ToolResult(tool) => match &tool.body {
                ResultBody::Output(fence) => vec![after..all.start + fence.line as usize + 1, last..all.end],
                // Its fence says what it waits for, or what is attached.
                ResultBody::Placeholder(fence, _) | ResultBody::Attached(fence, _) => {
                    vec![after..all.start + fence.line as usize, last..all.end]
                }
                ResultBody::Missing => return None,
            },
            BlockKind::Thinking => Vec::from_iter(Some(last..all.end)),
            BlockKind::Text | BlockKind::CodeFence(_) | BlockKind::Aborted | BlockKind::Stray(_) => return None,
        };
        lines.retain(|lines| lines.start > all.start && !lines.is_empty());
        (!lines.is_empty()).then_some(Hidden { block: all, lines })
    }
}
