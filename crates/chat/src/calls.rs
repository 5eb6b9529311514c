//! Tool calls and how they are paired with their results.
//!
//! Pairing is local. A *turn* is a run of `@Assistant:` messages and the run of `@You:` messages directly after it. The
//! result of a call is in the same turn. So a vendor may reuse an id in a long conversation, and the open calls can be
//! found in the last turn. Hosted calls are not paired: their results came with them.

use std::{
    cell::Cell,
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Range,
    sync::Arc,
};

use super::{Awaiting, Block, ParsedMessage, Slice, Speaker, Status, StatusBlock, Text, ToolResult, ToolUse};
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
    digest: Digest,
}

impl OpenCall {
    /// The digest of the input.
    pub fn digest(&self) -> Digest {
        self.digest.clone()
    }

    /// The call in a message: `bash (toolu_01)`. Several calls of one tool may wait.
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.id)
    }

    /// The status in its block, if it has one.
    pub fn status(&self) -> Option<Status> {
        self.placeholder.as_ref().map(|placeholder| placeholder.block.status)
    }

    /// What the user has written into its block.
    pub fn typed(&self) -> &str {
        self.placeholder.as_ref().map_or("", |placeholder| &placeholder.content)
    }

    /// What its block says that it waits for; `None` if it does not wait.
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

/// The calls of a document, and their results.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'a> {
    pub(super) messages: &'a [ParsedMessage],
    /// How many messages from the start are known to have no open call.
    pub(super) settled: &'a Cell<usize>,
}

/// The position of a block: the indices of its message and of the block.
pub(super) type Site = (usize, usize);

/// A tool use, or a result, where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a, T> {
    pub site: Site,
    pub message: &'a ParsedMessage,
    pub block: &'a Block,
    pub tool: T,
}

impl<T> Placed<'_, T> {
    /// The lines of the block.
    pub fn lines(self) -> Range<usize> {
        self.message.lines_of(self.block)
    }
}

impl Placed<'_, &ToolUse> {
    /// The input.
    pub fn input(self, text: &dyn Text) -> ToolInput {
        Slice::read(text, self.lines()).input(self.message, self.block)
    }

    /// A hash of its lines.
    pub fn hash(self, text: &dyn Text) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.read(self.lines(), &mut |line| line.hash(&mut hasher));
        hasher.finish()
    }

    pub fn describe(self, result: Option<Placed<'_, &ToolResult>>, text: &dyn Text) -> OpenCall {
        let ToolUse { id, name, known, .. } = self.tool;
        let read = || {
            let input = self.input(text);
            let digest = input.digest();
            (Arc::new(input), digest)
        };
        let (input, digest) = known.0.get_or_init(read).clone();
        OpenCall {
            id: id.clone(),
            name: name.clone(),
            input,
            line: self.lines().start,
            aborted: self.message.is_aborted(),
            placeholder: result.and_then(|result| result.placeholder(text)),
            digest,
        }
    }
}

impl Placed<'_, &ToolResult> {
    /// The line of the fence with the status, if it is a placeholder.
    pub fn status_line(self) -> Option<usize> {
        self.tool.body.status()?;
        self.message.fence_of(self.block)
    }

    fn placeholder(self, text: &dyn Text) -> Option<Placeholder> {
        let content = || {
            let content = Slice::read(text, self.lines()).inside(self.message, self.block);
            if content.trim().is_empty() { String::new() } else { content }
        };
        Some(Placeholder {
            line: self.lines().start,
            fence: self.status_line()?,
            block: self.tool.body.status()?.clone(),
            content: self.tool.known.0.get_or_init(content).clone(),
        })
    }
}

/// An open call, with its placeholder or its empty header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open<'a> {
    pub call: Placed<'a, &'a ToolUse>,
    pub result: Option<Placed<'a, &'a ToolResult>>,
}

impl<'a> Open<'a> {
    pub fn status(self) -> Option<&'a StatusBlock> {
        self.result.and_then(|result| result.tool.body.status())
    }
}

/// One turn, as indices of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The run of replies; may be empty.
    pub replies: Range<usize>,
    /// The run of the user's messages after it; may be empty.
    pub answers: Range<usize>,
}

impl<'a> Calls<'a> {
    /// The calls without a result, in document order.
    pub fn open(self, text: &dyn Text) -> Vec<OpenCall> {
        self.all_open().iter().map(|open| open.call.describe(open.result, text)).collect()
    }

    /// The last open call with this id. Of the others, nothing is read.
    pub fn find(self, id: &CallId, text: &dyn Text) -> Option<OpenCall> {
        let (turn, open) = self.find_open(id)?;
        let call = self.uses_in(&turn).rfind(|call| call.tool.id == *id)?;
        Some(call.describe(open.result, text))
    }

    /// The ids of the open calls with their status blocks, in document order. No text is read.
    pub fn states(self) -> Vec<(&'a CallId, Option<&'a StatusBlock>)> {
        self.all_open().iter().map(|open| (&open.call.tool.id, open.status())).collect()
    }

    /// The calls that wait for the user's decision and whose use or status block these lines touch, each with whether it has a
    /// status block, and the line of that or else of its use. What has none waits as well: a key runs it.
    pub fn waiting_in(self, lines: &Range<usize>) -> Vec<(&'a ToolUse, bool, usize)> {
        let touches = |found: &Range<usize>| found.start < lines.end && lines.start < found.end;
        let waiting = self.all_open().into_iter().filter_map(|open| {
            let status = open.status();
            let (call, result) = (open.call.lines(), open.result.map(Placed::lines));
            let is_meant = touches(&call) || result.as_ref().is_some_and(touches);
            let waits = status.is_none_or(|block| block.status == Status::Pending);
            (is_meant && waits).then(|| (open.call.tool, status.is_some(), result.unwrap_or(call).start))
        });
        waiting.collect()
    }

    /// The calls of the last reply, if nothing but their results comes after it; otherwise none.
    pub fn at_end(self, text: &dyn Text) -> Vec<CallId> {
        let [.., reply, results] = self.messages else { return Vec::new() };
        let is_end = (reply.role, results.role) == (Speaker::Assistant, Speaker::You);
        if !is_end || !results.blocks.iter().all(|block| results.is_result_or_blank(block, text)) {
            return Vec::new();
        }
        let calls = reply.tool_blocks().filter_map(|(_, block)| block.tool_use());
        calls.filter(|call| !call.hosted).map(|call| call.id.clone()).collect()
    }

    /// All tool uses that run here, with or without a result, in document order. It looks at every tool block of the document.
    pub fn uses(self) -> impl DoubleEndedIterator<Item = &'a ToolUse> {
        self.uses_in(&self.all_turns()).map(|call| call.tool)
    }

    /// All tool uses that run here, with or without a result, each with the index of its message. It reads every tool block of the
    /// document.
    pub fn all(self, text: &dyn Text) -> Vec<(usize, OpenCall)> {
        self.uses_in(&self.all_turns()).map(|call| (call.site.0, call.describe(None, text))).collect()
    }

    /// The inputs of the calls with this id and name that have a result here. Vendors reuse ids, so there may be several. It
    /// looks at every tool block of the document, but reads only those of these calls.
    pub fn answered_inputs(self, id: &CallId, name: &str, text: &dyn Text) -> Vec<Arc<ToolInput>> {
        let mut inputs = Vec::new();
        for turn in self.turns_backwards() {
            let is_meant = |call: &Placed<'_, &ToolUse>| call.tool.id == *id && call.tool.name == name;
            let wanted: Vec<_> = self.uses_in(&turn).filter(is_meant).collect();
            if !wanted.is_empty() {
                let open: Vec<Site> = self.open_in(&turn).iter().map(|open| open.call.site).collect();
                let answered = wanted.iter().filter(|call| !open.contains(&call.site));
                inputs.extend(answered.map(|call| call.describe(None, text).input));
            }
        }
        inputs
    }

    /// The call that a line belongs to: its use, its result or its placeholder. `None` elsewhere and for hosted calls.
    pub fn at(self, line: usize) -> Option<&'a CallId> {
        let (message, block) = self.block_at(line)?;
        let block = &self.messages[message].blocks[block];
        let is_hosted =
            block.tool_use().is_some_and(|tool| tool.hosted) || block.tool_result().is_some_and(|result| result.hosted);
        let id = block.call_id().filter(|_| !is_hosted)?;
        self.uses_in(&self.turn_with(message)).map(|call| &call.tool.id).find(|other| *other == id)
    }

    /// The status blocks, in order, each with its call and the lines of it, which begin with the header.
    pub fn placeholders(self) -> impl Iterator<Item = (&'a CallId, &'a StatusBlock, Range<usize>)> {
        let results = self.results_in(&self.all_turns());
        results.filter_map(|result| Some((&result.tool.id, result.tool.body.status()?, result.lines())))
    }

    /// The line with the status of the last open call with this id; `None` if it has no status block.
    pub fn status_line(self, id: &CallId) -> Option<usize> {
        self.find_open(id)?.1.result?.status_line()
    }

    /// The header of the last result with this id.
    pub fn result_line(self, id: &CallId) -> Option<usize> {
        let mut results = self.results_in(&self.all_turns());
        results.rfind(|result| result.tool.id == *id).map(|result| result.lines().start)
    }

    /// The open calls, in order. Turns that are known to be settled are not searched again until they change.
    pub(super) fn all_open(self) -> Vec<Open<'a>> {
        let turns: Vec<Turn> = self.turns_backwards_to(self.settled.get()).collect();
        let mut settled = self.messages.len();
        let mut open = Vec::new();
        for turn in turns.iter().rev() {
            let found = self.open_in(turn);
            if open.is_empty() && !found.is_empty() {
                settled = turn.replies.start;
            }
            open.extend(found);
        }
        self.settled.set(settled);
        open
    }

    /// The turns after the first `known` messages, the last one first. This includes the turn that ends with those
    /// messages, because what follows may have become part of it.
    pub(super) fn turns_backwards_to(self, known: usize) -> impl Iterator<Item = Turn> {
        self.turns_backwards().take_while(move |turn| turn.answers.end >= known)
    }

    /// The turns, the last one first. A `@System:` message separates turns.
    fn turns_backwards(self) -> impl Iterator<Item = Turn> {
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
    pub(super) fn turn_with(self, message: usize) -> Turn {
        let run_after = |start: usize, role: Speaker| {
            start + self.messages[start..].iter().take_while(|message| message.role == role).count()
        };
        let middle = match self.messages.get(message).map(|message| message.role) {
            Some(Speaker::You) => self.run_before(message + 1, Speaker::You).start,
            _ => run_after(message, Speaker::Assistant),
        };
        Turn { replies: self.run_before(middle, Speaker::Assistant), answers: middle..run_after(middle, Speaker::You) }
    }

    fn run_before(self, end: usize, role: Speaker) -> Range<usize> {
        let length = self.messages[..end].iter().rev().take_while(|message| message.role == role).count();
        end - length..end
    }

    /// The calls of a turn that run here.
    pub(super) fn uses_in(self, turn: &Turn) -> impl DoubleEndedIterator<Item = Placed<'a, &'a ToolUse>> + use<'a> {
        self.tools_in(turn.replies.clone(), |block| block.tool_use().filter(|tool| !tool.hosted))
    }

    /// The results and placeholders of a turn.
    pub(super) fn results_in(
        self,
        turn: &Turn,
    ) -> impl DoubleEndedIterator<Item = Placed<'a, &'a ToolResult>> + use<'a> {
        self.tools_in(turn.answers.clone(), Block::tool_result)
    }

    /// All turns as one.
    fn all_turns(self) -> Turn {
        Turn { replies: 0..self.messages.len(), answers: 0..self.messages.len() }
    }

    fn tools_in<T>(
        self,
        messages: Range<usize>,
        tool_of: fn(&'a Block) -> Option<&'a T>,
    ) -> impl DoubleEndedIterator<Item = Placed<'a, &'a T>> {
        messages.flat_map(move |index| {
            let message = &self.messages[index];
            let placed = move |(at, block)| Some(Placed { site: (index, at), message, block, tool: tool_of(block)? });
            message.tool_blocks().filter_map(placed)
        })
    }

    /// The indices of the message and the block that contain `line`.
    pub(super) fn block_at(self, line: usize) -> Option<Site> {
        let index = self.messages.partition_point(|message| message.start <= line).checked_sub(1)?;
        let message = self.messages.get(index).filter(|message| line < message.range().end)?;
        Some((index, message.block_before(line - message.start + 1)?))
    }

    /// The tool use at a line.
    pub(super) fn use_at(self, line: usize) -> Option<Placed<'a, &'a ToolUse>> {
        let site = self.block_at(line)?;
        let message = &self.messages[site.0];
        let block = &message.blocks[site.1];
        Some(Placed { site, message, block, tool: block.tool_use()? })
    }

    /// The open calls of a turn.
    pub(super) fn open_in(self, turn: &Turn) -> Vec<Open<'a>> {
        let mut results: HashMap<&CallId, (Placed<'_, &ToolResult>, bool)> = HashMap::new();
        for result in self.results_in(turn) {
            results.entry(&result.tool.id).or_insert((result, false)).1 |= result.tool.body.is_answer();
        }
        let open = self.uses_in(turn).filter_map(|call| match results.get(&call.tool.id) {
            Some((_, true)) => None,
            result => Some(Open { call, result: result.map(|(result, _)| *result) }),
        });
        open.collect()
    }

    /// The last open call with this id, and its turn.
    pub(super) fn find_open(self, id: &CallId) -> Option<(Turn, Open<'a>)> {
        self.turns_backwards_to(self.settled.get()).find_map(|turn| {
            let open = self.open_in(&turn).into_iter().find(|open| open.call.tool.id == *id)?;
            Some((turn, open))
        })
    }
}
