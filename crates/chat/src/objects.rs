//! Text objects: the lines of a message, and of a tool card.
//!
//! A card is a tool use and its result. They are in two messages, so the object of a card is the use or the result that the
//! cursor is on, and all lines from the use to the result if that is selected already.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, Text};

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

/// What of the text is meant, and how much of it.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The lines that are selected, or the cursor's.
    pub lines: Range<usize>,
    /// Whether they are selected.
    pub is_selected: bool,
    /// How much of a message or a card is wanted.
    pub extent: Extent,
    /// How many of them.
    pub count: usize,
}

impl Selection {
    /// Whether these lines are selected already.
    fn covers(&self, lines: &Range<usize>) -> bool {
        self.is_selected && self.lines.start <= lines.start && lines.end <= self.lines.end
    }
}

/// The messages from the one at the first of the lines: `count` of them. If lines are selected and contain the messages in
/// which they begin and end, `count` more. `None` if there is no such message, or it is empty.
pub fn message_object(document: &Document, selection: &Selection, text: &dyn Text) -> Option<Object> {
    let Selection { lines, extent, count, .. } = selection;
    let first = document.message_at(lines.start)?;
    let mut last = document.message_at(lines.end.saturating_sub(1).max(lines.start))?;
    let count = (*count).max(1);
    let span = |last: usize| span(&document.messages()[first..=last], *extent, text);
    if span(last).is_some_and(|found| selection.covers(&found.lines)) {
        last += count;
    } else {
        last = last.max(first + count - 1);
    }
    span(last.min(document.messages().len() - 1))
}

fn span(messages: &[ParsedMessage], extent: Extent, text: &dyn Text) -> Option<Object> {
    let (first, last) = (messages.first()?, messages.last()?);
    if extent == Extent::Whole {
        return Some(Object { lines: first.start..last.range().end, column: None });
    }
    let (start, column) = match first.blocks.first() {
        Some(block) if block.offset == 0 => {
            let line = text.line(first.start);
            (first.start, Some(first.text_at(first.start, &line)))
        }
        _ => (first.start + 1, None),
    };
    let end = text.last_written(start..last.range().end)? + 1;
    Some(Object { lines: start..end, column })
}

/// The tool use or the result at the first of the lines. If lines are selected and contain it, or `count` is more than 1,
/// all from the use to the result.
pub fn card_object(document: &Document, selection: &Selection, text: &dyn Text) -> Option<Object> {
    let Selection { lines, is_selected, extent, count } = selection;
    let (index, at) = document.block_at(lines.start)?;
    let message = &document.messages()[index];
    let block = message.blocks.get(at).filter(|block| block.is_tool())?;
    let is_single = *count <= 1;
    let inner = message.inside(block).filter(|inner| !inner.is_empty());
    let whole = with_blanks(message, at, text);
    let is_whole_free = !selection.covers(&whole);
    let wanted = match extent {
        Extent::Inner if is_single => inner.filter(|inner| !selection.covers(inner)),
        Extent::Whole if is_single && is_whole_free => Some(whole.clone()),
        _ => None,
    };
    let lines = match (wanted, extent) {
        (Some(wanted), _) => wanted,
        (None, Extent::Inner) if !is_selected && is_single => return None,
        (None, Extent::Inner) if is_single && is_whole_free => whole,
        (None, _) => card(document, index, block, text).unwrap_or(whole),
    };
    (!lines.is_empty()).then_some(Object { lines, column: None })
}

/// The lines from a call's use to the end of its result.
fn card(document: &Document, message: usize, block: &Block, text: &dyn Text) -> Option<Range<usize>> {
    let turn = document.calls().turn_with(message);
    let messages = &document.messages()[turn.replies.start..turn.answers.end.max(turn.replies.end)];
    let parts = messages.iter().flat_map(|message| {
        let own = message.tool_blocks().filter(|(_, found)| found.call_id() == block.call_id());
        own.map(|(at, _)| with_blanks(message, at, text))
    });
    parts.reduce(|lines, part| lines.start.min(part.start)..lines.end.max(part.end))
}

/// The lines of a block and the blank lines below it in the message.
fn with_blanks(message: &ParsedMessage, index: usize, text: &dyn Text) -> Range<usize> {
    let lines = message.lines_of(&message.blocks[index]);
    match message.blocks.get(index + 1) {
        Some(next) if next.kind == BlockKind::Text => {
            let end = message.range().end;
            lines.start..text.first_written(lines.end..end).unwrap_or(end)
        }
        _ => lines,
    }
}
