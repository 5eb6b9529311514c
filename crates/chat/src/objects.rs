//! Text objects: the lines of a message, and of a tool card.
//!
//! A card is a tool use and its result. They are in two messages, so the object of a card is the use or the result that the
//! cursor is on, and all lines from the use to the result if that is selected already.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, Text};
use flemma_model::CallId;

/// The lines of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The lines; at least one.
    pub lines: Range<usize>,
    /// The byte of the first line at which it starts, if that line has something before it that does not belong to it.
    pub column: Option<usize>,
}

/// How much of a message or a card an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only the content.
    Inner,
    /// With the marker or the header, and the blank lines below.
    Whole,
}

impl Document {
    /// The messages from the one at the first of `lines`: `count` of them. If `lines` are selected and contain the messages in
    /// which they begin and end, `count` more. `None` if there is no such message, or it is empty.
    #[must_use]
    pub fn message_object(
        &self,
        lines: &Range<usize>,
        is_selected: bool,
        extent: Extent,
        count: usize,
        text: &dyn Text,
    ) -> Option<Object> {
        let first = self.message_at(lines.start)?;
        let mut last = self.message_at(lines.end.saturating_sub(1).max(lines.start))?;
        let count = count.max(1);
        let is_covered = |last: usize| {
            let found = self.span(first, last, extent, text);
            found.is_some_and(|found| lines.start <= found.lines.start && found.lines.end <= lines.end)
        };
        if is_selected && is_covered(last) {
            last += count;
        } else {
            last = last.max(first + count - 1);
        }
        self.span(first, last.min(self.messages.len() - 1), extent, text)
    }

    fn span(&self, first: usize, last: usize, extent: Extent, text: &dyn Text) -> Option<Object> {
        let (first, last) = (self.messages.get(first)?, self.messages.get(last)?);
        if extent == Extent::Whole {
            return Some(Object { lines: first.start..last.range().end, column: None });
        }
        let (start, column) = match first.blocks.first() {
            Some(block) if block.offset == 0 => {
                let line = text.line(first.start);
                let marker = line.find(':').map_or(0, |colon| colon + 1);
                let blank = line[marker..].len() - line[marker..].trim_start().len();
                (first.start, Some(marker + blank))
            }
            _ => (first.start + 1, None),
        };
        let end = last_words(last.range().end, start, text)?;
        (start < end).then_some(Object { lines: start..end, column })
    }

    /// The tool use or the result at the first of `lines`. If `lines` are selected and contain it, or `count` is more than 1,
    /// all from the use to the result.
    #[must_use]
    pub fn card_object(
        &self,
        lines: &Range<usize>,
        is_selected: bool,
        extent: Extent,
        count: usize,
        text: &dyn Text,
    ) -> Option<Object> {
        let (index, block) = self.block_at(lines.start)?;
        let message = self.messages.get(index)?;
        let found = message.blocks.get(block).filter(|block| block.is_tool())?;
        let is_covered = |part: &Range<usize>| is_selected && lines.start <= part.start && part.end <= lines.end;
        let inner = message.content_of(found);
        let whole = message.with_blanks(block, text);
        let wanted = match extent {
            Extent::Inner if count <= 1 => inner.filter(|inner| !is_covered(inner)),
            Extent::Whole if count <= 1 && !is_covered(&whole) => Some(whole.clone()),
            _ => None,
        };
        let grown = is_selected && extent == Extent::Inner && count <= 1 && !is_covered(&whole);
        let lines = match wanted {
            Some(wanted) => wanted,
            None if extent == Extent::Inner && !is_selected && count <= 1 => return None,
            None if grown => whole,
            None => self.card(index, found, text).unwrap_or(whole),
        };
        (!lines.is_empty()).then_some(Object { lines, column: None })
    }

    /// The lines from a call's use to the end of its result.
    fn card(&self, message: usize, block: &Block, text: &dyn Text) -> Option<Range<usize>> {
        let id = id_of(block)?;
        let turn = self.turn_with(message);
        let mut lines: Option<Range<usize>> = None;
        for index in turn.replies.start..turn.answers.end.max(turn.replies.end) {
            let Some(found) = self.messages.get(index) else { continue };
            for (at, _) in found.tool_blocks().filter(|(_, block)| id_of(block) == Some(id)) {
                let part = found.with_blanks(at, text);
                lines = Some(lines.map_or(part.clone(), |lines| lines.start.min(part.start)..lines.end.max(part.end)));
            }
        }
        lines
    }
}

impl ParsedMessage {
    /// The lines in the fence of a tool block.
    fn content_of(&self, block: &Block) -> Option<Range<usize>> {
        let lines = self.lines_of(block);
        let first = lines.start + block.tool_fence()?.line as usize + 1;
        let end = if block.closed { lines.end - 1 } else { lines.end };
        (first < end).then_some(first..end)
    }

    /// The lines of a block and the blank lines below it in the message.
    fn with_blanks(&self, index: usize, text: &dyn Text) -> Range<usize> {
        let Some(block) = self.blocks.get(index) else { return 0..0 };
        let mut lines = self.lines_of(block);
        if self.blocks.get(index + 1).is_some_and(|next| next.kind == BlockKind::Text) {
            while lines.end < self.range().end && text.line(lines.end).trim().is_empty() {
                lines.end += 1;
            }
        }
        lines
    }
}

fn id_of(block: &Block) -> Option<&CallId> {
    match &block.kind {
        BlockKind::ToolUse(tool) => Some(&tool.id),
        BlockKind::ToolResult(result) => Some(&result.id),
        _ => None,
    }
}

/// One past the last line before `end` that is not blank; `None` if there is none from `start` on.
fn last_words(end: usize, start: usize, text: &dyn Text) -> Option<usize> {
    (start..end).rev().find(|line| !text.line(*line).trim().is_empty()).map(|line| line + 1)
}
