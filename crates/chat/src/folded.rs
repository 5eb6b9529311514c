//! What is in a fold, for the line that is shown in its place.

use std::ops::Range;

use super::{
    Block, BlockKind, Calls, Document, ParsedMessage, Speaker, Text, captured::captured_at, folds::folds, unescape,
};
use flemma_model::CallId;

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
    /// A call, or its result, which may begin at the marker of its message.
    Card,
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

/// The content of the fold that has exactly these lines; `None` if there is no such fold.
pub fn folded(document: &Document, lines: &Range<usize>, text: &dyn Text) -> Option<Folded> {
    let group = folds(document, lines.start..lines.start + 1, text, false).into_iter().next()?;
    // The end of a fold of a block depends on what follows it, which may still be growing.
    let is_outer = group.outer.is_some_and(|fold| fold.lines == *lines);
    let Some(index) = group.message.checked_sub(1) else {
        let matter = document.frontmatter().filter(|_| is_outer)?;
        return Some(Folded::Frontmatter { language: matter.language.clone() });
    };
    let message = &document.messages()[index];
    if is_outer {
        let (words, tools) = (first_words(message, text), names_in(document.calls(), index));
        return Some(Folded::Message { speaker: message.role, words, tools });
    }
    if message.start == lines.start && message.has_only_results(text) {
        return Some(Folded::Card);
    }
    let begins =
        |block: &&Block| message.lines_of(block).start + usize::from(message.has_tag_row(block)) == lines.start;
    let block = message.blocks.iter().find(begins).filter(|_| lines.end <= message.range().end)?;
    folded_block(message, block, text)
}

fn folded_block(message: &ParsedMessage, block: &Block, text: &dyn Text) -> Option<Folded> {
    let lines = || message.inside(block).map_or(0, |lines| lines.len());
    match &block.kind {
        BlockKind::Thinking => Some(Folded::Thinking { lines: lines() }),
        BlockKind::CodeFence(code) if code.captured => {
            let (reference, cut) = captured_at(message, block, text)?;
            let first = message.lines_of(block).start + 1;
            let about = if lines() > 0 { unescape(&text.line(first)).to_owned() } else { String::new() };
            Some(Folded::Captured { reference, about, lines: lines(), cut })
        }
        _ => block.is_tool().then_some(Folded::Card),
    }
}

/// The tools that a message calls, or whose results it has.
fn names_in(calls: Calls<'_>, message: usize) -> Vec<String> {
    let turn = calls.turn_with(message);
    let mut names: Vec<String> = Vec::new();
    for (_, block) in calls.messages[message].tool_blocks() {
        let answered = |id: &CallId| calls.uses_in(&turn).find(|call| call.tool.id == *id).map(|call| &call.tool.name);
        let name = block.tool_use().map(|tool| &tool.name);
        let name = name.or_else(|| answered(&block.tool_result()?.id));
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            names.push(name.clone());
        }
        if names.len() == NAMES {
            break;
        }
    }
    names
}

/// The first line with words outside of thinking and tools; empty if there is none.
fn first_words(message: &ParsedMessage, text: &dyn Text) -> String {
    let is_prose = |block: &&Block| matches!(block.kind, BlockKind::Text | BlockKind::CodeFence(_));
    let mut lines = message.blocks.iter().filter(is_prose).flat_map(|block| message.lines_of(block)).map(|line| {
        let found = text.line(line);
        found[message.text_at(line, &found)..].trim().to_owned()
    });
    lines.find(|words| !words.is_empty()).unwrap_or_default()
}
