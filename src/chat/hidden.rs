//! Lines that a reader need not see: the input of a call, the fences around a result, the end of thinking and of what was
//! captured.
//!
//! The editor hides them while the cursor is in another block. A block that is not complete is not hidden.

use std::ops::Range;

use super::{BlockKind, Document, ParsedMessage, ResultBody, Text};

/// Lines of one block that are hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The lines of the block.
    pub block: Range<usize>,
    /// Those of them that are hidden, in order.
    pub lines: Vec<Range<usize>>,
}

impl Document {
    /// The hidden lines of the blocks that overlap the lines in `range`, in order. The blank lines between two calls belong to
    /// the first one.
    #[must_use]
    pub fn hidden(&self, range: Range<usize>, text: &dyn Text) -> Vec<Hidden> {
        let mut found = Vec::new();
        for message in self.messages_in(range.clone()) {
            let from = range.start.saturating_sub(message.start);
            // The range may begin in the blank lines behind a call.
            let first = message.blocks.partition_point(|block| block.end() <= from).saturating_sub(1);
            let touched = (first..message.blocks.len())
                .take_while(|at| message.lines_of(&message.blocks[*at]).start < range.end)
                .filter_map(|at| message.hidden(at, text));
            found.extend(touched.filter(|hidden| hidden.block.end > range.start));
        }
        found
    }
}

impl ParsedMessage {
    fn hidden(&self, at: usize, text: &dyn Text) -> Option<Hidden> {
        let block = self.blocks.get(at).filter(|block| block.closed)?;
        let mut all = self.lines_of(block);
        // The header, or the tag, stays.
        let (after, last) = (all.start + 1, all.end.saturating_sub(1));
        let mut lines = match &block.kind {
            BlockKind::ToolUse(tool) => {
                tool.input?;
                let input = after..all.end;
                // So that calls read as a list.
                let next = self.blocks.get(at + 2).map(|next| &next.kind);
                let gap = if matches!(next, Some(BlockKind::ToolUse(_))) { self.gap_after(at, text) } else { 0 };
                all.end += gap;
                vec![input.clone(), input.end..all.end]
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
            BlockKind::CodeFence(code) if code.captured => Vec::from_iter(Some(last..all.end)),
            BlockKind::Text | BlockKind::CodeFence(_) | BlockKind::Aborted | BlockKind::Stray(_) => return None,
        };
        lines.retain(|lines| lines.start > all.start && !lines.is_empty());
        (!lines.is_empty()).then_some(Hidden { block: all, lines })
    }
}
