//! The messages and the blocks at some lines, at the cost of those that are there.

use std::ops::Range;

use super::{Block, Document, ParsedMessage};

impl Document {
    /// The messages that overlap the lines in `range`, in order.
    pub(super) fn messages_in(&self, range: Range<usize>) -> impl Iterator<Item = &ParsedMessage> {
        let first = self.messages().partition_point(|message| message.range().end <= range.start);
        let rest = self.messages().get(first..).unwrap_or_default();
        rest.iter().take_while(move |message| message.start < range.end)
    }

    /// The blocks that overlap the lines in `range`, in order, each with its message.
    pub(super) fn blocks_in(&self, range: Range<usize>) -> impl Iterator<Item = (&ParsedMessage, &Block)> {
        self.messages_in(range.clone()).flat_map(move |message| {
            let from = range.start.saturating_sub(message.start);
            let first = message.blocks.partition_point(|block| block.end() <= from);
            let end = range.end;
            let overlaps = move |block: &&Block| message.lines_of(block).start < end;
            message.blocks[first..].iter().take_while(overlaps).map(move |block| (message, block))
        })
    }
}
