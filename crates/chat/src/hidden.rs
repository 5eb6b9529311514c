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

/// The cards of the blocks that overlap the lines in `range`, in order.
pub fn hidden(document: &Document, range: Range<usize>, text: &dyn Text) -> Vec<Hidden> {
    let mut found = Vec::new();
    // The marker before a result belongs to its card, and comes with the blocks of its message.
    for (_, message) in document.messages_in(range.clone()) {
        let marker = message.has_only_results(text);
        // Thinking may begin on the line of a marker.
        let is_alone = message.blocks.first().is_none_or(|block| block.offset > 0 || block.kind == BlockKind::Text);
        if !marker && is_alone && range.contains(&message.start) {
            let line = message.start;
            found.push(Hidden { block: line..line + 1, card: line, lines: Vec::new() });
        }
        let first_result = message.blocks.iter().find(|block| block.kind != BlockKind::Text);
        let from = range.start.saturating_sub(message.start);
        for block in message.blocks.iter().skip(message.blocks.partition_point(|block| block.end() <= from)) {
            let takes_marker = marker && first_result.is_none_or(|first| block.offset <= first.offset);
            let start = if takes_marker { message.start } else { message.lines_of(block).start };
            if start >= range.end {
                break;
            }
            found.extend(hidden_block(message, block, start, document.line_count()));
        }
    }
    found
}

/// What is hidden of a block, with the lines before it from `start` on. `end` is the number of lines of the document: its last line
/// is never hidden, since the cursor may rest on it.
fn hidden_block(message: &ParsedMessage, block: &Block, start: usize, end: usize) -> Option<Hidden> {
    let all = message.lines_of(block);
    let found = |card, lines| Some(Hidden { block: start..all.end, card, lines });
    let tool = match &block.kind {
        BlockKind::ToolResult(tool) => tool,
        // Its tag may have a signature of many rows.
        BlockKind::Thinking if message.has_tag_row(block) => {
            return found(all.start + 1, std::iter::once(all.start..all.start + 1).collect());
        }
        BlockKind::ToolUse(_) | BlockKind::Thinking => return found(all.start, Vec::new()),
        BlockKind::CodeFence(code) if code.captured => return found(all.start, Vec::new()),
        _ => return None,
    };
    let is_shown =
        matches!(tool.body, ResultBody::Placeholder(..)) || matches!(tool.body, ResultBody::Output(_) if tool.is_error);
    let fence = message.fence_of(block).filter(|_| is_shown);
    let fences = fence.map(|fence| [all.start + 1..fence + 1, all.end - 1..all.end]);
    let mut lines: Vec<_> = std::iter::once(start..all.start).chain(fences.into_iter().flatten()).collect();
    lines.retain(|lines| !lines.is_empty() && lines.end < end);
    if !block.closed || (tool.body.is_answer() && !tool.is_error && message.results() == 1) {
        lines.clear();
    }
    found(all.start, lines)
}
