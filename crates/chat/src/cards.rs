//! Cards: the blocks of a call, each with what is known of the call, for drawing.
//!
//! A call and its result are two blocks in two messages. The result, or the placeholder for it, is the card, and the call is only
//! named. Only the turns of the blocks that are asked
//! for are searched, so the cost is proportional to the screen.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Range,
};

use super::{
    BlockKind, Document, ParsedMessage, ResultBody, Status, StatusBlock, Text,
    calls::{Site, Turn},
    read::Lines,
};
use flemma_model::{CallId, ToolInput};

/// Which block of a call a card is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardPart {
    /// The call.
    Use,
    /// The result, or the placeholder for it.
    Result {
        /// The number of lines of the output.
        output: usize,
        /// The status block, and the line of its fence.
        status: Option<(usize, StatusBlock)>,
    },
}

/// What became of a call, as far as the document says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// There is neither a result nor a placeholder.
    Open,
    /// It has a status block.
    Status(Status),
    /// It has a result.
    Done,
    /// Its result is an error.
    Failed,
}

/// A block of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The lines of the block.
    pub lines: Range<usize>,
    /// Which block it is.
    pub part: CardPart,
    /// The call's id.
    pub id: CallId,
    /// The tool's name; empty for a result whose call is not there.
    pub name: String,
    /// What became of the call.
    pub fate: Fate,
    /// The line of the fence around the output, if this is a result that has one.
    pub fence: Option<usize>,
    site: Option<Site>,
}

impl Card {
    /// The number of lines of the output; 0 for a call.
    #[must_use]
    pub const fn output(&self) -> usize {
        match self.part {
            CardPart::Use => 0,
            CardPart::Result { output, .. } => output,
        }
    }
}

impl Document {
    /// The blocks of calls that overlap the lines in `range`, in order.
    #[must_use]
    pub fn cards(&self, range: Range<usize>) -> Vec<Card> {
        let mut found = Vec::new();
        let mut turn: Option<Turn> = None;
        let first = self.messages.partition_point(|message| message.range().end <= range.start);
        for (index, message) in self.messages.iter().enumerate().skip(first) {
            if message.start >= range.end {
                break;
            }
            let from = range.start.saturating_sub(message.start);
            let start = message.blocks.partition_point(|block| block.end() <= from);
            for at in start..message.blocks.len() {
                let block = &message.blocks[at];
                if message.lines_of(block).start >= range.end {
                    break;
                }
                if block.is_tool() {
                    let is_known = turn
                        .as_ref()
                        .is_some_and(|turn| turn.replies.contains(&index) || turn.answers.contains(&index));
                    let turn = match turn.take().filter(|_| is_known) {
                        Some(known) => turn.insert(known),
                        None => turn.insert(self.turn_with(index)),
                    };
                    found.extend(self.card_of((index, at), turn));
                }
            }
        }
        found
    }

    /// The input of a card's call; `None` if the call is not there.
    #[must_use]
    pub fn card_input(&self, card: &Card, text: &dyn Text) -> Option<ToolInput> {
        let (message, block) = self.block(card.site?)?;
        Some(Lines::read(text, message.lines_of(block)).input(block, 0))
    }

    /// A hash of the lines of a card's call; `None` if the call is not there.
    #[must_use]
    pub fn card_hash(&self, card: &Card, text: &dyn Text) -> Option<u64> {
        let (message, block) = self.block(card.site?)?;
        let mut hasher = DefaultHasher::new();
        text.read(message.lines_of(block), &mut |line| line.hash(&mut hasher));
        Some(hasher.finish())
    }

    fn card_of(&self, site: Site, turn: &Turn) -> Option<Card> {
        let (message, block) = self.block(site)?;
        let lines = message.lines_of(block);
        match &block.kind {
            BlockKind::ToolUse(tool) => {
                let fate = if tool.hosted { hosted_fate(message, &tool.id) } else { self.fate(&tool.id, turn) };
                let (id, name) = (tool.id.clone(), tool.name.clone());
                Some(Card { lines, part: CardPart::Use, id, name, fate, fence: None, site: Some(site) })
            }
            BlockKind::ToolResult(tool) => {
                let call = if tool.hosted {
                    let mut uses = message.tool_blocks().filter_map(|(at, block)| match &block.kind {
                        BlockKind::ToolUse(call) if call.hosted && call.id == tool.id => Some((at, call)),
                        _ => None,
                    });
                    uses.next().map(|(at, call)| ((site.0, at), call.name.clone()))
                } else {
                    let mut uses = self.uses_in(turn).filter(|(_, call)| call.id == tool.id);
                    uses.next().map(|(site, call)| (site, call.name.clone()))
                };
                let (site, name) = call.map_or((None, String::new()), |(site, name)| (Some(site), name));
                let fence = tool.body.fence().map(|fence| lines.start + fence.line as usize);
                let end = if block.closed { lines.end - 1 } else { lines.end };
                let output = fence.map_or(0, |fence| end.saturating_sub(fence + 1));
                let status = match &tool.body {
                    ResultBody::Placeholder(at, status) => Some((lines.start + at.line as usize, status.clone())),
                    _ => None,
                };
                let fate = fate_of(&tool.body, tool.is_error);
                let part = CardPart::Result { output, status };
                Some(Card { lines, part, id: tool.id.clone(), name, fate, fence, site })
            }
            _ => None,
        }
    }

    /// What became of a call.
    fn fate(&self, id: &CallId, turn: &Turn) -> Fate {
        let mut fate = Fate::Open;
        for (_, result) in self.results_in(turn).filter(|(_, result)| result.id == *id) {
            fate = fate_of(&result.body, result.is_error);
            if result.body.is_answer() {
                break;
            }
        }
        fate
    }
}

fn fate_of(body: &ResultBody, is_error: bool) -> Fate {
    match body {
        ResultBody::Placeholder(_, status) => Fate::Status(status.status),
        ResultBody::Missing => Fate::Open,
        _ if is_error => Fate::Failed,
        _ => Fate::Done,
    }
}

fn hosted_fate(message: &ParsedMessage, id: &CallId) -> Fate {
    let mut results = message.tool_blocks().filter_map(|(_, block)| match &block.kind {
        BlockKind::ToolResult(result) if result.hosted && result.id == *id => Some(result),
        _ => None,
    });
    results.next().map_or(Fate::Open, |result| fate_of(&result.body, result.is_error))
}
