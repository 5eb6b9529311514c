//! Cards: the markers and blocks that are drawn as one line, and what of them is hidden.
//!
//! The block of a call that waits, runs or has failed shows its card and its output. The editor hides its fences, and the
//! marker of a message that has nothing but results. What is over is in a closed fold, and is shown as it is where that is open.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, ResultBody, Text};

/// A marker or a block that is drawn as a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The lines of the block, with a marker that is hidden together with it.
    pub block: Range<usize>,
    /// The line that its card is drawn over.
    pub card: usize,
    /// The lines that are hidden, in order.
    pub lines: Vec<Range<usize>>,
}

impl Document {
    /// The cards of the blocks that overlap the lines in `range`, in order.
    #[must_use]
    pub fn hidden(&self, range: Range<usize>, text: &dyn Text) -> Vec<Hidden> {
        let mut found = Vec::new();
        // The marker before a result belongs to its card, and comes with the blocks of its message.
        for message in self.messages_in(range.clone()) {
            let from = range.start.saturating_sub(message.start);
            let first = message.blocks.partition_point(|block| block.end() <= from);
            let is_first = |at: usize| message.blocks[..at].iter().all(|block| block.kind == BlockKind::Text);
            let marker = message.has_only_results(text);
            // Thinking may begin on the line of a marker.
            let is_alone = message.blocks.first().is_none_or(|block| block.offset > 0 || block.kind == BlockKind::Text);
            if !marker && is_alone && range.contains(&message.start) {
                let line = message.start;
                found.push(Hidden { block: line..line + 1, card: line, lines: Vec::new() });
            }
            for at in first..message.blocks.len() {
                let block = &message.blocks[at];
                let takes_marker = marker && is_first(at);
                let start = if takes_marker { message.start } else { message.lines_of(block).start };
                if start >= range.end {
                    break;
                }
                found.extend(message.hidden(at, takes_marker, self.lines));
            }
        }
        found
    }
}

impl ParsedMessage {
    /// `end` is the number of lines of the document: its last line is never hidden, since the cursor may rest on it.
    fn hidden(&self, at: usize, takes_marker: bool, end: usize) -> Option<Hidden> {
        let block = self.blocks.get(at)?;
        let all = self.lines_of(block);
        let whole = if takes_marker { self.start..all.end } else { all.clone() };
        let found = |card, lines| Some(Hidden { block: whole.clone(), card, lines });
        let tool = match &block.kind {
            BlockKind::ToolResult(tool) => tool,
            // Its tag may have a signature of many rows.
            BlockKind::Thinking if self.has_tag_row(block) => {
                return found(all.start + 1, std::iter::once(all.start..all.start + 1).collect());
            }
            BlockKind::ToolUse(_) | BlockKind::Thinking => return found(all.start, Vec::new()),
            BlockKind::CodeFence(code) if code.captured => return found(all.start, Vec::new()),
            _ => return None,
        };
        let (before, closing) = (whole.start..all.start, all.end.saturating_sub(1)..all.end);
        let mut lines = match &tool.body {
            ResultBody::Placeholder(fence, _) => {
                vec![before, all.start + 1..all.start + fence.line as usize + 1, closing]
            }
            ResultBody::Output(fence) if tool.is_error => {
                vec![before, all.start + 1..all.start + fence.line as usize + 1, closing]
            }
            ResultBody::Output(_) | ResultBody::Attached(..) | ResultBody::Missing => vec![before],
        };
        lines.retain(|lines| !lines.is_empty() && lines.end < end);
        if !block.closed || (tool.body.is_answer() && !tool.is_error && self.results() == 1) {
            lines.clear();
        }
        found(all.start, lines)
    }

    /// Whether thinking is complete and its tag has a line of its own, which is hidden. Its fold begins below the tag.
    pub(super) fn has_tag_row(&self, block: &Block) -> bool {
        block.kind == BlockKind::Thinking && block.closed && block.lines > 1 && block.offset > 0
    }
}
