//! Cards: the blocks of a call, each with what is known of the call, for drawing.
//!
//! A call and its result are two blocks in two messages. The result, or the placeholder for it, is the card, and the call is only
//! named. Only the turns of the blocks that are asked
//! for are searched, so the cost is proportional to the screen.

use std::ops::Range;

use super::{Calls, Document, ResultBody, Status, StatusBlock, Text, ToolResult, calls::Turn};
use flemma_model::{CallId, ToolInput};

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
    /// Whether it is the call, and not its result or the placeholder for it.
    pub is_use: bool,
    /// The call's id.
    pub id: CallId,
    /// The tool's name; empty for a result whose call is not there.
    pub name: String,
    /// What became of the call.
    pub fate: Fate,
    /// The line of the fence around the output, if this is a result that has one.
    pub fence: Option<usize>,
    /// The number of lines of the output; 0 for a call.
    pub output: usize,
    /// The status block, if it has one.
    pub status: Option<StatusBlock>,
    /// The first line of the call.
    call: Option<usize>,
}

impl Card {
    /// The input of the call; `None` if that is not there.
    pub fn input(&self, calls: Calls<'_>, text: &dyn Text) -> Option<ToolInput> {
        Some(calls.use_at(self.call?)?.input(text))
    }

    /// A hash of the lines of the call; `None` if that is not there.
    pub fn hash(&self, calls: Calls<'_>, text: &dyn Text) -> Option<u64> {
        Some(calls.use_at(self.call?)?.hash(text))
    }
}

/// The blocks of calls that overlap the lines in `range`, in order.
pub fn cards(document: &Document, range: Range<usize>) -> Vec<Card> {
    let calls = document.calls();
    let mut found = Vec::new();
    let mut turn: Option<Turn> = None;
    for (index, message) in document.messages_in(range.clone()) {
        for block in message.blocks_in(range.clone()) {
            let Some(id) = block.call_id() else { continue };
            let is_in = |turn: &Turn| turn.replies.contains(&index) || turn.answers.contains(&index);
            let known = turn.take().filter(is_in).unwrap_or_else(|| calls.turn_with(index));
            let turn = turn.insert(known);
            let lines = message.lines_of(block);
            let mut card = Card {
                is_use: block.tool_use().is_some(),
                id: id.clone(),
                name: String::new(),
                fate: Fate::Open,
                fence: None,
                output: 0,
                status: None,
                call: Some(lines.start),
                lines,
            };
            if let Some(tool) = block.tool_use() {
                card.name.clone_from(&tool.name);
                card.fate = match tool.hosted {
                    true => message.hosted_result(id).map_or(Fate::Open, fate_of),
                    false => fate(calls, turn, id),
                };
            } else if let Some(tool) = block.tool_result() {
                let call = if tool.hosted {
                    let mut uses = message.tool_blocks().filter_map(|(_, block)| Some((block, block.tool_use()?)));
                    let own = uses.find(|(_, call)| call.hosted && call.id == tool.id);
                    own.map(|(block, call)| (message.lines_of(block), call))
                } else {
                    let mut uses = calls.uses_in(turn).filter(|call| call.tool.id == tool.id);
                    uses.next().map(|call| (call.lines(), call.tool))
                };
                card.call = call.as_ref().map(|(lines, _)| lines.start);
                card.name = call.map_or_else(String::new, |(_, call)| call.name.clone());
                card.fate = fate_of(tool);
                card.fence = message.fence_of(block);
                card.output = message.inside(block).map_or(0, |lines| lines.len());
                card.status = tool.body.status().cloned();
            }
            found.push(card);
        }
    }
    found
}

/// What became of a call.
fn fate(calls: Calls<'_>, turn: &Turn, id: &CallId) -> Fate {
    let mut fate = Fate::Open;
    for result in calls.results_in(turn).filter(|result| result.tool.id == *id) {
        fate = fate_of(result.tool);
        if result.tool.body.is_answer() {
            break;
        }
    }
    fate
}

fn fate_of(result: &ToolResult) -> Fate {
    match &result.body {
        ResultBody::Placeholder(_, status) => Fate::Status(status.status),
        ResultBody::Missing => Fate::Open,
        _ if result.is_error => Fate::Failed,
        _ => Fate::Done,
    }
}
