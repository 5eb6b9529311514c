//! What is in a fold, for the line that is shown in its place.

use std::ops::Range;

use super::{
    Block, BlockKind, Document, FoldKind, ParsedMessage, ResultBody, Speaker, Status, Text, ToolUse, read::Lines,
};
use crate::model::{CallId, ToolInput};

/// How many names of tools stand for a message without words.
const NAMES: usize = 4;

/// The content of a fold.
#[derive(Clone, Debug, PartialEq)]
pub enum Folded {
    /// The frontmatter.
    Frontmatter {
        /// Its language; empty if it names none.
        language: String,
    },
    /// A message.
    Message {
        /// Its author.
        speaker: Speaker,
        /// Its first line with words; empty if it has none.
        words: String,
        /// The tools that it calls or answers, each once.
        tools: Vec<String>,
    },
    /// Thinking.
    Thinking {
        /// The number of lines between its tags.
        lines: usize,
    },
    /// A call.
    Call(FoldedCall),
    /// The result of a call.
    Result(FoldedCall),
    /// What a reference of the user's meant when it was sent.
    Captured {
        /// The reference, as the user wrote it.
        reference: String,
        /// The number of lines between its fences.
        lines: usize,
    },
    /// A message that has nothing but results.
    Results(Vec<FoldedCall>),
}

/// A call in a fold.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldedCall {
    /// The call's id.
    pub id: CallId,
    /// The tool's name; empty if the call is not in the turn.
    pub tool: String,
    /// The input; `None` if the call is not in the turn.
    pub input: Option<ToolInput>,
    /// What became of it.
    pub state: CallState,
    /// The number of lines of the input, or of the result.
    pub lines: usize,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It has no result and no status.
    New,
    /// Its status block says so.
    Status(Status),
    /// It has a result.
    Good,
    /// Its result is an error.
    Failed,
}

impl Document {
    /// The content of the fold that has exactly these lines; `None` if there is no such fold.
    #[must_use]
    pub fn folded(&self, lines: &Range<usize>, text: &dyn Text) -> Option<Folded> {
        // The end of a fold of a block depends on what follows it, which may still be growing.
        self.folded_whole(lines, text).or_else(|| {
            let (index, block) = self.block_at(lines.start)?;
            let message = self.messages.get(index)?;
            let block = message.blocks.get(block).filter(|block| message.lines_of(block).start == lines.start)?;
            (lines.end <= message.range().end).then(|| self.folded_block(index, block, text))?
        })
    }

    fn folded_whole(&self, lines: &Range<usize>, text: &dyn Text) -> Option<Folded> {
        let groups = self.folds(lines.start..lines.start + 1, text, false);
        let group = groups.into_iter().next()?;
        let fold = group.outer.filter(|fold| fold.lines == *lines)?;
        if fold.kind == FoldKind::Frontmatter {
            return Some(Folded::Frontmatter { language: self.frontmatter()?.language.clone() });
        }
        let index = group.message.checked_sub(1)?;
        let message = self.messages.get(index)?;
        Some(match fold.kind {
            FoldKind::Results => Folded::Results(self.folded_results(index, text)),
            FoldKind::Message(speaker) => {
                Folded::Message { speaker, words: message.first_words(text), tools: self.names_in(index) }
            }
            FoldKind::Frontmatter
            | FoldKind::Thinking
            | FoldKind::ToolUse
            | FoldKind::ToolResult
            | FoldKind::Captured => return None,
        })
    }

    fn folded_block(&self, message: usize, block: &Block, text: &dyn Text) -> Option<Folded> {
        match &block.kind {
            BlockKind::Thinking => {
                let tags = if block.closed { 2 } else { 1 };
                Some(Folded::Thinking { lines: (block.lines as usize).saturating_sub(tags) })
            }
            BlockKind::CodeFence(code) if code.captured => {
                let fences = if block.closed { 2 } else { 1 };
                let first = self.messages.get(message)?.lines_of(block).start;
                let reference = self.captured_at(first, text)?;
                Some(Folded::Captured { reference, lines: (block.lines as usize).saturating_sub(fences) })
            }
            BlockKind::ToolUse(tool) => {
                let input = input(self.messages.get(message)?, block, text);
                let state = self.state_of(message, tool);
                Some(Folded::Call(FoldedCall {
                    id: tool.id.clone(),
                    tool: tool.name.clone(),
                    input: Some(input),
                    state,
                    lines: content(block),
                }))
            }
            BlockKind::ToolResult(_) => self.folded_result(message, block, text).map(Folded::Result),
            _ => None,
        }
    }

    fn folded_results(&self, message: usize, text: &dyn Text) -> Vec<FoldedCall> {
        let Some(found) = self.messages.get(message) else { return Vec::new() };
        found.blocks.iter().filter_map(|block| self.folded_result(message, block, text)).collect()
    }

    fn folded_result(&self, message: usize, block: &Block, text: &dyn Text) -> Option<FoldedCall> {
        let BlockKind::ToolResult(result) = &block.kind else { return None };
        let state = state(&result.body, result.is_error);
        let site = if result.hosted {
            let blocks = self.messages.get(message)?.blocks.iter();
            let uses = |block: &Block| matches!(&block.kind, BlockKind::ToolUse(tool) if tool.id == result.id);
            blocks.clone().position(uses).map(|block| (message, block))
        } else {
            let turn = self.turn_with(message);
            self.uses_in(&turn).find(|(_, tool)| tool.id == result.id).map(|(site, _)| site)
        };
        let used = site.and_then(|site| self.block(site));
        let (tool, input) = match used {
            Some((message, block)) => match &block.kind {
                BlockKind::ToolUse(tool) => (tool.name.clone(), Some(input(message, block, text))),
                _ => (String::new(), None),
            },
            None => (String::new(), None),
        };
        Some(FoldedCall { id: result.id.clone(), tool, input, state, lines: content(block) })
    }

    fn state_of(&self, message: usize, tool: &ToolUse) -> CallState {
        if tool.hosted {
            let is_answered = self.messages.get(message).is_some_and(|message| message.answers_hosted(&tool.id));
            return if is_answered { CallState::Good } else { CallState::New };
        }
        let turn = self.turn_with(message);
        let last = self.results_in(&turn).rfind(|(_, result)| result.id == tool.id);
        last.map_or(CallState::New, |(_, result)| state(&result.body, result.is_error))
    }

    /// The tools that a message calls, or whose results it has.
    fn names_in(&self, message: usize) -> Vec<String> {
        let Some(found) = self.messages.get(message) else { return Vec::new() };
        let turn = self.turn_with(message);
        let mut names: Vec<String> = Vec::new();
        for (_, block) in found.tool_blocks() {
            let name = match &block.kind {
                BlockKind::ToolUse(tool) => Some(&tool.name),
                BlockKind::ToolResult(result) => {
                    self.uses_in(&turn).find(|(_, tool)| tool.id == result.id).map(|(_, tool)| &tool.name)
                }
                _ => None,
            };
            if let Some(name) = name.filter(|name| !names.contains(name)) {
                names.push(name.clone());
            }
            if names.len() == NAMES {
                break;
            }
        }
        names
    }
}

impl ParsedMessage {
    /// The first line with words outside of thinking and tools; empty if there is none.
    fn first_words(&self, text: &dyn Text) -> String {
        let mut words = String::new();
        for block in &self.blocks {
            if !matches!(block.kind, BlockKind::Text | BlockKind::CodeFence(_)) {
                continue;
            }
            for line in self.lines_of(block) {
                let found = text.line(line);
                let found = if line == self.start {
                    found.trim_start().strip_prefix(&self.role.to_string()).unwrap_or(&found).trim().to_owned()
                } else {
                    found.trim().to_owned()
                };
                if !found.is_empty() {
                    words = found;
                    break;
                }
            }
            if !words.is_empty() {
                break;
            }
        }
        words
    }
}

fn input(message: &ParsedMessage, block: &Block, text: &dyn Text) -> ToolInput {
    Lines::read(text, message.lines_of(block)).input(block, 0)
}

/// The number of lines in the fence of a tool block.
fn content(block: &Block) -> usize {
    let Some(fence) = block.tool_fence() else { return 0 };
    let end = if block.closed { block.lines.saturating_sub(1) } else { block.lines };
    end.saturating_sub(fence.line + 1) as usize
}

fn state(body: &ResultBody, is_error: bool) -> CallState {
    match body {
        ResultBody::Placeholder(_, block) => CallState::Status(block.status),
        ResultBody::Missing => CallState::New,
        ResultBody::Output(_) | ResultBody::Attached(..) if is_error => CallState::Failed,
        ResultBody::Output(_) | ResultBody::Attached(..) => CallState::Good,
    }
}
