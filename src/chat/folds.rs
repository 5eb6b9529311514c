//! Folds: which lines of a conversation can be folded, and which folds begin closed.
//!
//! A message is a fold, and in it thinking, a tool use, a tool result and what a reference meant are. A message that has nothing but one result is
//! one fold. The editor asks for the folds of the lines that have changed, so the cost is proportional to the change.

use std::{collections::HashMap, ops::Range};

use super::{Block, BlockKind, Document, ParsedMessage, Speaker, Text, ToolResult, calls::Turn};
use crate::model::CallId;

/// The maximum number of blank lines that a fold takes in before the next one.
const GAP: u32 = 3;

/// Lines that can be folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The lines.
    pub lines: Range<usize>,
    /// What they are.
    pub kind: FoldKind,
    /// Whether the fold is closed when its conversation is opened.
    pub begins: Begins,
}

/// What is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldKind {
    /// The frontmatter, with its fences.
    Frontmatter,
    /// A message.
    Message(Speaker),
    /// A message that has nothing but results.
    Results,
    /// `<thinking>` to `</thinking>`.
    Thinking,
    /// A call.
    ToolUse,
    /// A result, or the placeholder for it.
    ToolResult,
    /// What a reference of the user's meant when it was sent.
    Captured,
}

/// Whether a fold is closed at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Closed at the level 0.
    Chapter,
    /// Closed at the levels 0 and 1.
    Detail,
    /// Open at every level: the user has to see it, because it waits, has failed or is not complete.
    Open,
    /// Closed at the levels 0 and 1 if it is new, or else as it is: a call that has just begun to run, and may be over in a moment.
    Brief,
}

impl Begins {
    /// Whether the fold is closed at a level.
    #[must_use]
    pub const fn is_closed(self, level: u32) -> bool {
        match self {
            Self::Chapter => level == 0,
            Self::Detail | Self::Brief => level <= 1,
            Self::Open => false,
        }
    }
}

/// The folds of a message, or of what precedes the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldGroup {
    /// The lines of the message.
    pub lines: Range<usize>,
    /// The number of the message, from 1; 0 for the lines before the first one.
    pub message: usize,
    /// The fold of the whole.
    pub outer: Option<Fold>,
    /// The folds in it, in order. They do not overlap.
    pub inner: Vec<Fold>,
}

/// What the results of a turn say of its calls: whether each is good.
type Answers<'a> = HashMap<&'a CallId, bool>;

impl Document {
    /// The folds of the messages that overlap the lines in `range`. The last message is not folded as a whole while
    /// `is_growing`, and neither is a block at its end that is not complete.
    #[must_use]
    pub fn folds(&self, range: Range<usize>, text: &dyn Text, is_growing: bool) -> Vec<FoldGroup> {
        let mut found = Vec::new();
        let head = self.head();
        if range.start < head.end && head.start < range.end {
            let matter = self.frontmatter().filter(|matter| matter.closed && matter.lines > 1);
            let outer = matter.map(|matter| Fold {
                lines: 0..matter.lines,
                kind: FoldKind::Frontmatter,
                begins: Begins::Detail,
            });
            found.push(FoldGroup { lines: head, message: 0, outer, inner: Vec::new() });
        }
        let first = self.messages.partition_point(|message| message.range().end <= range.start);
        let mut turn: Option<(Turn, Answers<'_>)> = None;
        for (index, message) in self.messages.iter().enumerate().skip(first) {
            if message.start >= range.end {
                break;
            }
            let is_known =
                turn.as_ref().is_some_and(|(turn, _)| turn.replies.contains(&index) || turn.answers.contains(&index));
            if !is_known {
                let of = self.turn_with(index);
                turn = Some((of.clone(), self.answers_in(&of)));
            }
            let is_last = index + 1 == self.messages.len();
            let answers = turn.as_ref().map(|(_, answers)| answers);
            found.push(message.folds(index + 1, answers, text, Ending::of(is_last, is_growing)));
        }
        found
    }

    /// The lines of the turns that overlap `lines`.
    #[must_use]
    pub fn turns_around(&self, lines: Range<usize>) -> Range<usize> {
        let turn = |line: usize| self.message_at(line).map(|message| self.turn_with(message));
        let start_of = |index: usize| self.messages.get(index).map(|message| message.start);
        let end_of = |index: usize| self.messages.get(index).map(|message| message.range().end);
        let first = turn(lines.start).and_then(|turn| start_of(turn.replies.start.min(turn.answers.start)));
        let last = turn(lines.end.min(self.lines).saturating_sub(1));
        let last = last.and_then(|turn| end_of(turn.answers.end.max(turn.replies.end).checked_sub(1)?));
        first.unwrap_or(lines.start).min(lines.start)..last.unwrap_or(lines.end).max(lines.end)
    }

    fn answers_in(&self, turn: &Turn) -> Answers<'_> {
        let mut answers = Answers::new();
        for (_, result) in self.results_in(turn) {
            *answers.entry(&result.id).or_insert(false) |= is_good(result);
        }
        answers
    }
}

/// Whether something may still be written at the end of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Another message follows.
    Followed,
    /// It is the last one.
    Last,
    /// It is the last one, and a reply or a result is being written.
    Growing,
}

impl Ending {
    const fn of(is_last: bool, is_growing: bool) -> Self {
        match (is_last, is_growing) {
            (false, _) => Self::Followed,
            (true, false) => Self::Last,
            (true, true) => Self::Growing,
        }
    }
}

impl ParsedMessage {
    fn folds(&self, number: usize, answers: Option<&Answers<'_>>, text: &dyn Text, ending: Ending) -> FoldGroup {
        let lines = self.range();
        let results = self.only_results(text);
        let mut inner = match results {
            // It would be a fold in a fold of the same text.
            Some(1) => Vec::new(),
            _ => self.inner_folds(answers, text, ending),
        };
        let is_open = |fold: &Fold| fold.begins == Begins::Open;
        let begins = match results {
            Some(_) if self.results().all(is_good) => Begins::Detail,
            _ if ending != Ending::Followed || results.is_some() || inner.iter().any(is_open) => Begins::Open,
            _ => Begins::Chapter,
        };
        let kind = results.map_or(FoldKind::Message(self.role), |_| FoldKind::Results);
        let mut whole = lines.clone();
        if results.is_some() && ending == Ending::Followed {
            // The reply below begins after an empty row, as it does after open results.
            while whole.len() > 1 && text.line(whole.end - 1).trim().is_empty() {
                whole.end -= 1;
            }
        }
        let is_whole = ending != Ending::Growing && whole.len() > 1;
        let outer = is_whole.then_some(Fold { lines: whole, kind, begins });
        if outer.is_none() && results == Some(1) {
            inner = self.inner_folds(answers, text, ending);
        }
        FoldGroup { lines, message: number, outer, inner }
    }

    fn inner_folds(&self, answers: Option<&Answers<'_>>, text: &dyn Text, ending: Ending) -> Vec<Fold> {
        let mut found = Vec::new();
        for (index, block) in self.blocks.iter().enumerate() {
            let is_cut = !block.closed && index + 1 == self.blocks.len();
            let Some(kind) = fold_kind(block) else { continue };
            if block.lines < 2 || (is_cut && ending == Ending::Growing) {
                continue;
            }
            let begins = match &block.kind {
                BlockKind::ToolUse(tool) if !tool.hosted => match answers.and_then(|answers| answers.get(&tool.id)) {
                    Some(true) => Begins::Detail,
                    Some(false) | None => Begins::Open,
                },
                BlockKind::ToolResult(result) if !is_good(result) => Begins::Open,
                _ => Begins::Detail,
            };
            let mut lines = self.lines_of(block);
            lines.end += self.gap_after(index, text);
            found.push(Fold { lines, kind, begins });
        }
        found
    }

    /// The number of blank lines between a fold and the next one, if there is nothing else between them.
    pub(super) fn gap_after(&self, index: usize, text: &dyn Text) -> usize {
        let (Some(gap), Some(next)) = (self.blocks.get(index + 1), self.blocks.get(index + 2)) else { return 0 };
        if fold_kind(next).is_some() && self.is_gap(gap, text) { gap.lines as usize } else { 0 }
    }

    /// Whether a block is only a few blank lines.
    fn is_gap(&self, block: &Block, text: &dyn Text) -> bool {
        let mut is_blank = block.kind == BlockKind::Text && block.lines <= GAP;
        if is_blank {
            text.read(self.lines_of(block), &mut |line| is_blank &= line.trim().is_empty());
        }
        is_blank
    }

    /// How many results the message has, if it has nothing else.
    fn only_results(&self, text: &dyn Text) -> Option<usize> {
        let is_result = |block: &Block| matches!(block.kind, BlockKind::ToolResult(_));
        let is_only = self.role == Speaker::You
            && self.blocks.iter().all(|block| is_result(block) || self.is_gap(block, text))
            && self.blocks.iter().any(is_result);
        is_only.then(|| self.blocks.iter().filter(|block| is_result(block)).count())
    }

    fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolResult(result) => Some(&**result),
            _ => None,
        })
    }
}

/// Whether a call has its result, and the result is not an error.
fn is_good(result: &ToolResult) -> bool {
    result.body.is_answer() && !result.is_error
}

/// What a block is when it is folded; `None` for what is not.
const fn fold_kind(block: &Block) -> Option<FoldKind> {
    match &block.kind {
        BlockKind::Thinking => Some(FoldKind::Thinking),
        BlockKind::ToolUse(_) => Some(FoldKind::ToolUse),
        BlockKind::ToolResult(_) => Some(FoldKind::ToolResult),
        BlockKind::CodeFence(code) if code.captured => Some(FoldKind::Captured),
        _ => None,
    }
}
