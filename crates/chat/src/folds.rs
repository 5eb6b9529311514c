//! Folds: which lines of a conversation can be folded, and which folds begin closed.
//!
//! A message is a fold, and in it thinking, a tool use, a tool result and what a reference meant are. What waits, runs or is
//! still being written is no fold, so that it is seen; it becomes one when it is over. A message that has nothing but results
//! has a fold for each; that of a single one begins at the marker. The editor asks for the folds of the lines that have
//! changed, so the cost is proportional to the change.

use std::ops::Range;

use super::{Block, BlockKind, Document, ParsedMessage, Speaker, Text};

/// The maximum number of blank lines that a fold takes in before the next one.
const GAP: u32 = 3;

/// Lines that can be folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The lines.
    pub lines: Range<usize>,
    /// Whether the fold is closed when its conversation is opened.
    pub begins: Begins,
}

/// Whether a fold is closed at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Closed at the level 0.
    Chapter,
    /// Closed at the levels 0 and 1.
    Detail,
    /// Open at every level: a call has failed.
    Open,
}

impl Begins {
    /// Whether the fold is closed at a level.
    pub const fn is_closed(self, level: u32) -> bool {
        match self {
            Self::Chapter => level == 0,
            Self::Detail => level <= 1,
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

/// The folds of the messages that overlap the lines in `range`. The last message is not folded as a whole while
/// `is_growing`, and neither is a block at its end that is not complete.
pub fn folds(document: &Document, range: Range<usize>, text: &dyn Text, is_growing: bool) -> Vec<FoldGroup> {
    let mut found = Vec::new();
    let head = document.head();
    if range.start < head.end && head.start < range.end {
        let matter = document.frontmatter().filter(|matter| matter.closed && matter.lines > 1);
        let outer = matter.map(|matter| Fold { lines: 0..matter.lines, begins: Begins::Detail });
        found.push(FoldGroup { lines: head, message: 0, outer, inner: Vec::new() });
    }
    for (index, message) in document.messages_in(range.clone()) {
        let is_last = index + 1 == document.messages().len();
        let inner = inner_folds(message, text, is_last && is_growing);
        let mut group = FoldGroup { lines: message.range(), message: index + 1, outer: None, inner };
        if !is_last {
            fold_whole(&mut group, message, text);
        }
        found.push(group);
    }
    found
}

/// Folds a message that another one follows, so that nothing more is written into it.
fn fold_whole(group: &mut FoldGroup, message: &ParsedMessage, text: &dyn Text) {
    let lines = message.range();
    let only_results = message.has_only_results(text);
    if only_results {
        // What follows is the same turn.
        let last = message.blocks.iter().rfind(|block| block.tool_result().is_some());
        let last = last.map(|block| message.lines_of(block).start);
        if let Some(fold) = group.inner.last_mut().filter(|fold| Some(fold.lines.start) == last) {
            fold.lines.end = lines.end;
            if message.results() == 1 && fold.begins == Begins::Detail {
                fold.lines.start = lines.start;
            }
        }
    }
    let waits = message.blocks.iter().filter_map(Block::tool_result).any(|result| !result.body.is_answer());
    if !only_results && !waits && lines.len() > 1 {
        let begins = match message.role {
            _ if group.inner.iter().any(|fold| fold.begins == Begins::Open) => Begins::Open,
            // Instructions that were captured are as long as the files that they come from.
            Speaker::System if !group.inner.is_empty() => Begins::Detail,
            _ => Begins::Chapter,
        };
        group.outer = Some(Fold { lines, begins });
    }
}

/// The folds in a message. While it `is_growing`, a block at its end that is not complete is none.
fn inner_folds(message: &ParsedMessage, text: &dyn Text, is_growing: bool) -> Vec<Fold> {
    let mut found: Vec<Fold> = Vec::new();
    for (index, block) in message.blocks.iter().enumerate().filter(|(_, block)| is_foldable(block)) {
        let is_cut = !block.closed && index + 1 == message.blocks.len();
        let begins = match block.tool_result() {
            _ if is_cut && is_growing => continue,
            Some(result) if !result.body.is_answer() => continue,
            Some(result) if result.is_error => Begins::Open,
            _ => Begins::Detail,
        };
        let mut lines = message.lines_of(block);
        lines.start += usize::from(message.has_tag_row(block));
        if block.lines > 1 {
            lines.end += gap_after(message, index, text);
        }
        if lines.len() > 1 {
            found.push(Fold { lines, begins });
        }
    }
    found
}

/// The number of blank lines between a fold and the next one, if there is nothing else between them.
fn gap_after(message: &ParsedMessage, index: usize, text: &dyn Text) -> usize {
    let [_, gap, next, ..] = &message.blocks[index..] else { return 0 };
    let may_be_gap = is_foldable(next) && gap.kind == BlockKind::Text && gap.lines <= GAP;
    if may_be_gap && text.is_blank(message.lines_of(gap)) { gap.lines as usize } else { 0 }
}

/// Whether a block can be folded.
fn is_foldable(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Thinking) || block.is_tool() || block.is_captured()
}
