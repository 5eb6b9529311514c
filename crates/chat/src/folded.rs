//! What is in a fold, for the line that is shown in its place.

use std::ops::Range;

use super::{Block, BlockKind, Document, FoldKind, ParsedMessage, Speaker, Text, unescape};

/// How many names of tools stand for a message without words.
const NAMES: usize = 4;

/// The content of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    Call,
    /// The result of a call, which may begin at the marker of its message.
    Result,
    /// What a reference of the user's meant when it was sent.
    Captured {
        /// The reference, as the user wrote it.
        reference: String,
        /// The first line of what it meant, which says of which file or how much it is.
        about: String,
        /// The number of lines between its fences.
        lines: usize,
        /// How much of it is there, if something was left out: `512 of 3000 lines`.
        cut: Option<String>,
    },
}

impl Document {
    /// The content of the fold that has exactly these lines; `None` if there is no such fold.
    #[must_use]
    pub fn folded(&self, lines: &Range<usize>, text: &dyn Text) -> Option<Folded> {
        // The end of a fold of a block depends on what follows it, which may still be growing.
        self.folded_whole(lines, text).or_else(|| {
            let message = self.messages.get(self.message_at(lines.start)?)?;
            if message.start == lines.start && message.has_only_results(text) {
                return Some(Folded::Result);
            }
            let begins =
                |block: &&Block| message.lines_of(block).start + usize::from(message.has_tag_row(block)) == lines.start;
            let block = message.blocks.iter().find(begins)?;
            (lines.end <= message.range().end).then(|| self.folded_block(message, block, text))?
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

    fn folded_block(&self, message: &ParsedMessage, block: &Block, text: &dyn Text) -> Option<Folded> {
        match &block.kind {
            BlockKind::Thinking => {
                let tags = if block.closed { 2 } else { 1 };
                Some(Folded::Thinking { lines: (block.lines as usize).saturating_sub(tags) })
            }
            BlockKind::CodeFence(code) if code.captured => {
                let fences = if block.closed { 2 } else { 1 };
                let first = message.lines_of(block).start;
                let (reference, cut) = self.captured_at(first, text)?;
                let lines = (block.lines as usize).saturating_sub(fences);
                let about = if lines > 0 { unescape(&text.line(first + 1)).to_owned() } else { String::new() };
                Some(Folded::Captured { reference, about, lines, cut })
            }
            BlockKind::ToolUse(_) => Some(Folded::Call),
            BlockKind::ToolResult(_) => Some(Folded::Result),
            _ => None,
        }
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
