//! Tool calls and how they are paired with their results.
//!
//! Pairing is local. A *turn* is a run of `@Assistant:` messages and the run of `@You:` messages directly after it. The
//! result of a call is in the same turn. So a vendor may reuse an id in a long conversation, and the open calls can be
//! found in the last turn. Hosted calls are not paired: their results came with them.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    Awaiting, Block, BlockKind, Document, ParsedMessage, ResultBody, Speaker, Status, StatusBlock, Text, ToolResult,
    ToolUse, block::InputDigest, read::Lines,
};
use flemma_model::{CallId, Digest, ToolInput};

/// A tool use that runs here and has no result in the document.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call's id.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The input as it is in the document now: the user may have edited it.
    pub input: Arc<ToolInput>,
    /// The line of the `**Tool Use:**` header.
    pub line: usize,
    /// Whether the reply with the call was aborted. Such a call never runs.
    pub aborted: bool,
    /// The status block, if there is one.
    pub placeholder: Option<Placeholder>,
    digest: InputDigest,
}

impl OpenCall {
    /// The digest of the input. It is made once for each input in the document.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest.get(&self.input)
    }

    /// The call in a message: `bash (toolu_01)`. Several calls of one tool may wait.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.id)
    }

    /// What its block says that it waits for; `None` if it does not wait.
    #[must_use]
    pub fn awaiting(&self) -> Option<Awaiting> {
        let block = &self.placeholder.as_ref()?.block;
        (block.status == Status::Pending).then(|| block.awaiting())
    }
}

/// A status block in place of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Placeholder {
    /// The line of the `**Tool Result:**` header.
    pub line: usize,
    /// The line of the opening fence with the status.
    pub fence: usize,
    /// The info string of the fence.
    pub block: StatusBlock,
    /// The text that the user wrote inside the block; empty if it is only white space.
    pub content: String,
}

/// A call in the document, with or without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRef {
    /// The call's id.
    pub id: CallId,
    /// The index of the message with the tool use, in [`Document::messages`].
    pub message: usize,
    /// The line of the `**Tool Use:**` header.
    pub line: usize,
    /// Whether it has no result yet.
    pub open: bool,
}

/// A status block, for drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceholderRef<'a> {
    /// The call.
    pub id: &'a CallId,
    /// The line of the `**Tool Result:**` header.
    pub line: usize,
    /// The line of the opening fence with the status.
    pub fence: usize,
    /// One past the last line of the block, including a closing fence.
    pub end: usize,
    /// The info string of the fence.
    pub block: &'a StatusBlock,
}

/// The position of a block: the indices of its message and of the block.
pub(super) type Site = (usize, usize);

/// One turn, as indices of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The run of replies; may be empty.
    pub replies: Range<usize>,
    /// The run of the user's messages after it; may be empty.
    pub answers: Range<usize>,
}

impl Document {
    /// The calls without a result, in document order.
    #[must_use]
    pub fn open_calls(&self, text: &dyn Text) -> Vec<OpenCall> {
        self.open_sites().into_iter().map(|(site, result)| self.describe(site, result, text)).collect()
    }

    /// The last open call with this id. Of the others, nothing is read.
    #[must_use]
    pub fn open_call(&self, id: &CallId, text: &dyn Text) -> Option<OpenCall> {
        let (turn, _, result) = self.find_open(id)?;
        let (site, _) = self.uses_in(&turn).rfind(|(_, tool)| tool.id == *id)?;
        Some(self.describe(site, result, text))
    }

    /// The ids of the open calls with their status blocks, in document order. No text is read.
    #[must_use]
    pub fn open_states(&self) -> Vec<(&CallId, Option<&StatusBlock>)> {
        let states = self.open_sites().into_iter().filter_map(|(site, result)| {
            let block = result.and_then(|site| match &self.block(site)?.1.kind {
                BlockKind::ToolResult(tool) => tool.body.status(),
                _ => None,
            });
            Some((self.id_at(site)?, block))
        });
        states.collect()
    }

    /// The calls that wait for the user's decision and whose use or status block these lines touch, each with whether it has a
    /// status block, and the line of that or else of its use. What has none waits as well: a key runs it.
    #[must_use]
    pub fn waiting_in(&self, lines: &Range<usize>) -> Vec<(&ToolUse, bool, usize)> {
        let touches = |site: Site| {
            self.block(site).is_some_and(|(message, block)| {
                let found = message.lines_of(block);
                found.start < lines.end && lines.start < found.end
            })
        };
        let waiting = self.open_sites().into_iter().filter_map(|(site, result)| {
            let status = result.and_then(|site| match &self.block(site)?.1.kind {
                BlockKind::ToolResult(tool) => match &tool.body {
                    ResultBody::Placeholder(_, block) => Some(block.status),
                    _ => None,
                },
                _ => None,
            });
            let BlockKind::ToolUse(tool) = &self.block(site)?.1.kind else { return None };
            let waits = status.is_none_or(|status| status == Status::Pending);
            let (message, block) = self.block(result.unwrap_or(site))?;
            let call = (&**tool, status.is_some(), message.lines_of(block).start);
            (waits && (touches(site) || result.is_some_and(touches))).then_some(call)
        });
        waiting.collect()
    }

    /// The calls of the last reply, if nothing but their results comes after it; otherwise none.
    #[must_use]
    pub fn calls_at_end(&self, text: &dyn Text) -> Vec<CallId> {
        let [.., reply, results] = &self.messages[..] else { return Vec::new() };
        let is_blank = |block: &Block| {
            let begin = results.start + block.offset as usize;
            let mut is_blank = true;
            // A message's first line is its marker.
            text.read(begin.max(results.start + 1)..results.start + block.end(), &mut |line| {
                is_blank &= line.trim().is_empty();
            });
            is_blank
        };
        let is_only_results = results.role == Speaker::You
            && results.blocks.iter().all(|block| match &block.kind {
                BlockKind::ToolResult(_) => true,
                BlockKind::Text => is_blank(block),
                _ => false,
            });
        if reply.role != Speaker::Assistant || !is_only_results {
            return Vec::new();
        }
        let calls = reply.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolUse(call) if !call.hosted => Some(call.id.clone()),
            _ => None,
        });
        calls.collect()
    }

    /// The open calls, in order, each with its placeholder or its empty header. Turns that are known to be settled are
    /// not searched again until they change.
    pub(super) fn open_sites(&self) -> Vec<(Site, Option<Site>)> {
        let turns: Vec<Turn> = self.unsettled_turns_backwards().collect();
        let mut settled = self.messages.len();
        let mut open = Vec::new();
        for turn in turns.iter().rev() {
            let found = self.open_in(turn);
            if open.is_empty() && !found.is_empty() {
                settled = turn.replies.start;
            }
            open.extend(found);
        }
        self.settled.know(settled);
        open
    }

    /// The turns that may have open calls, the last one first.
    fn unsettled_turns_backwards(&self) -> impl Iterator<Item = Turn> {
        self.turns_backwards_to(self.settled.get())
    }

    /// The turns after the first `known` messages, the last one first. This includes the turn that ends with those
    /// messages, because what follows may have become part of it.
    pub(super) fn turns_backwards_to(&self, known: usize) -> impl Iterator<Item = Turn> {
        self.turns_backwards().take_while(move |turn| turn.answers.end >= known)
    }

    /// The ids of all tool uses that run here. It looks at every tool block of the document.
    pub fn call_ids(&self) -> impl Iterator<Item = &CallId> {
        self.tools_in(0..self.messages.len()).filter_map(|(_, block)| match &block.kind {
            BlockKind::ToolUse(tool) if !tool.hosted => Some(&tool.id),
            _ => None,
        })
    }

    /// The id and the tool of every tool use that runs here, the last one first.
    pub fn calls_backwards(&self) -> impl Iterator<Item = (&CallId, &str)> {
        self.tools_in(0..self.messages.len()).rev().filter_map(|(_, block)| match &block.kind {
            BlockKind::ToolUse(tool) if !tool.hosted => Some((&tool.id, tool.name.as_str())),
            _ => None,
        })
    }

    /// All tool uses that run here, with or without a result, each with the index of its message. It reads every tool block of the
    /// document.
    #[must_use]
    pub fn all_calls(&self, text: &dyn Text) -> Vec<(usize, OpenCall)> {
        let uses = self.tools_in(0..self.messages.len()).filter(|(_, block)| match &block.kind {
            BlockKind::ToolUse(tool) => !tool.hosted,
            _ => false,
        });
        uses.map(|(site, _)| (site.0, self.describe(site, None, text))).collect()
    }

    /// The inputs of the calls with this id and name that have a result here. Vendors reuse ids, so there may be several. It
    /// looks at every tool block of the document, but reads only those of these calls.
    #[must_use]
    pub fn answered_inputs(&self, id: &CallId, name: &str, text: &dyn Text) -> Vec<Arc<ToolInput>> {
        let turns = self.turns_backwards().filter(|turn| self.uses_in(turn).any(|(_, tool)| tool.id == *id));
        let answered = turns.flat_map(|turn| {
            let open: Vec<Site> = self.open_in(&turn).into_iter().map(|(site, _)| site).collect();
            let uses =
                self.uses_in(&turn).filter(|(site, tool)| tool.id == *id && tool.name == name && !open.contains(site));
            uses.map(|(site, _)| site).collect::<Vec<_>>()
        });
        answered.map(|site| self.describe(site, None, text).input).collect()
    }

    /// The call that a line belongs to: its use, its result or its placeholder. `None` elsewhere and for hosted calls.
    #[must_use]
    pub fn call_at(&self, line: usize) -> Option<CallRef> {
        let (message, block) = self.block_at(line)?;
        let (id, hosted) = match &self.messages[message].blocks[block].kind {
            BlockKind::ToolUse(tool) => (&tool.id, tool.hosted),
            BlockKind::ToolResult(tool) => (&tool.id, tool.hosted),
            _ => return None,
        };
        if hosted {
            return None;
        }
        let turn = self.turn_with(message);
        let (site, _) = self.uses_in(&turn).find(|(_, tool)| tool.id == *id)?;
        let open = self.open_in(&turn).iter().any(|(open, _)| *open == site);
        Some(CallRef { id: id.clone(), message: site.0, line: self.line_of(site), open })
    }

    /// The status blocks, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = PlaceholderRef<'_>> {
        self.messages.iter().filter(|message| message.role == Speaker::You).flat_map(|message| {
            message.tool_blocks().filter_map(|(_, block)| {
                let BlockKind::ToolResult(tool) = &block.kind else { return None };
                let ResultBody::Placeholder(fence, status) = &tool.body else { return None };
                let lines = message.lines_of(block);
                Some(PlaceholderRef {
                    id: &tool.id,
                    line: lines.start,
                    fence: lines.start + fence.line as usize,
                    end: lines.end,
                    block: status,
                })
            })
        })
    }

    /// The turns, the last one first. A `@System:` message separates turns.
    pub(super) fn turns_backwards(&self) -> impl Iterator<Item = Turn> {
        let mut end = self.messages.len();
        std::iter::from_fn(move || {
            while end > 0 && self.messages[end - 1].role == Speaker::System {
                end -= 1;
            }
            if end == 0 {
                return None;
            }
            let answers = self.run_before(end, Speaker::You);
            let replies = self.run_before(answers.start, Speaker::Assistant);
            end = replies.start;
            Some(Turn { replies, answers })
        })
    }

    /// The turn that a message belongs to. It is empty for a `@System:` message.
    pub(super) fn turn_with(&self, message: usize) -> Turn {
        let role = |index: usize| self.messages.get(index).map(|message| message.role);
        let mut middle = message;
        if role(message) == Some(Speaker::You) {
            middle = self.run_before(message + 1, Speaker::You).start;
        } else {
            while role(middle) == Some(Speaker::Assistant) {
                middle += 1;
            }
        }
        let mut end = middle;
        while role(end) == Some(Speaker::You) {
            end += 1;
        }
        Turn { replies: self.run_before(middle, Speaker::Assistant), answers: middle..end }
    }

    fn run_before(&self, end: usize, role: Speaker) -> Range<usize> {
        let length = self.messages[..end].iter().rev().take_while(|message| message.role == role).count();
        end - length..end
    }

    /// The calls of a turn that run here.
    pub(super) fn uses_in(&self, turn: &Turn) -> impl DoubleEndedIterator<Item = (Site, &ToolUse)> {
        self.tools_in(turn.replies.clone()).filter_map(|(site, block)| match &block.kind {
            BlockKind::ToolUse(tool) if !tool.hosted => Some((site, &**tool)),
            _ => None,
        })
    }

    /// The results and placeholders of a turn.
    pub(super) fn results_in(&self, turn: &Turn) -> impl DoubleEndedIterator<Item = (Site, &ToolResult)> {
        self.tools_in(turn.answers.clone()).filter_map(|(site, block)| match &block.kind {
            BlockKind::ToolResult(tool) => Some((site, &**tool)),
            _ => None,
        })
    }

    fn tools_in(&self, messages: Range<usize>) -> impl DoubleEndedIterator<Item = (Site, &Block)> {
        messages.flat_map(|index| self.messages[index].tool_blocks().map(move |(block, found)| ((index, block), found)))
    }

    /// The open calls of a turn, each with its placeholder or its empty header.
    pub(super) fn open_in(&self, turn: &Turn) -> Vec<(Site, Option<Site>)> {
        let mut results: HashMap<&CallId, (Site, bool)> = HashMap::new();
        for (site, result) in self.results_in(turn) {
            results.entry(&result.id).or_insert((site, false)).1 |= result.body.is_answer();
        }
        let mut open = Vec::new();
        for (site, tool) in self.uses_in(turn) {
            match results.get(&tool.id) {
                Some((_, true)) => {}
                Some((result, false)) => open.push((site, Some(*result))),
                None => open.push((site, None)),
            }
        }
        open
    }

    /// The last open call with this id, with its placeholder, and its turn.
    pub(super) fn find_open(&self, id: &CallId) -> Option<(Turn, Site, Option<Site>)> {
        self.unsettled_turns_backwards().find_map(|turn| {
            let (site, _) = self.uses_in(&turn).find(|(_, tool)| tool.id == *id)?;
            let mut first = None;
            for (at, result) in self.results_in(&turn).filter(|(_, result)| result.id == *id) {
                if result.body.is_answer() {
                    return None;
                }
                first.get_or_insert(at);
            }
            Some((turn, site, first))
        })
    }

    /// The line with the status of the last open call with this id; `None` if it has no status block.
    #[must_use]
    pub fn status_line(&self, id: &CallId) -> Option<usize> {
        let (_, _, site) = self.find_open(id)?;
        let (message, block) = self.block(site?)?;
        let BlockKind::ToolResult(tool) = &block.kind else { return None };
        let ResultBody::Placeholder(fence, _) = &tool.body else { return None };
        Some(message.lines_of(block).start + fence.line as usize)
    }

    /// The id of the call that a tool block belongs to.
    pub(super) fn id_at(&self, site: Site) -> Option<&CallId> {
        match &self.block(site)?.1.kind {
            BlockKind::ToolUse(tool) => Some(&tool.id),
            BlockKind::ToolResult(tool) => Some(&tool.id),
            _ => None,
        }
    }

    pub(super) fn block(&self, (message, block): Site) -> Option<(&ParsedMessage, &Block)> {
        let message = self.messages.get(message)?;
        Some((message, message.blocks.get(block)?))
    }

    /// The first line of a block.
    pub(super) fn line_of(&self, site: Site) -> usize {
        self.block(site).map_or(0, |(message, block)| message.lines_of(block).start)
    }

    fn describe(&self, site: Site, result: Option<Site>, text: &dyn Text) -> OpenCall {
        let mut call = OpenCall {
            id: CallId::from(""),
            name: String::new(),
            input: Arc::default(),
            line: self.line_of(site),
            aborted: self.messages[site.0].is_aborted(),
            placeholder: None,
            digest: InputDigest::default(),
        };
        if let Some((message, block)) = self.block(site)
            && let BlockKind::ToolUse(tool) = &block.kind
        {
            call.id.clone_from(&tool.id);
            call.name.clone_from(&tool.name);
            (call.input, call.digest) = tool
                .known
                .get(|| (Arc::new(Lines::read(text, message.lines_of(block)).input(block, 0)), InputDigest::default()));
        }
        if let Some((message, block)) = result.and_then(|site| self.block(site))
            && let BlockKind::ToolResult(tool) = &block.kind
            && let ResultBody::Placeholder(fence, status) = &tool.body
        {
            let lines = message.lines_of(block);
            let content = tool.known.get(|| {
                let content = Lines::read(text, lines.clone()).fenced(block, 0);
                if content.trim().is_empty() { String::new() } else { content }
            });
            call.placeholder = Some(Placeholder {
                line: lines.start,
                fence: lines.start + fence.line as usize,
                block: status.clone(),
                content,
            });
        }
        call
    }
}
