//! Instructions: the `@System:` message that is written when a conversation of a project is sent for the first time.
//!
//! ````text
//! @System:
//! You are a coding agent in Neovim.
//!
//! ```flemma:captured of="AGENTS.md"
//! Run `make test` before you commit.
//! ```
//!
//! @You:
//! Find the bug.
//! ````
//!
//! Its prose is the system prompt, and what follows are the files that were read for it, each captured as a reference is
//! ([`super::captured`]). So what the model is told is in the file, and stays the same whatever becomes of the project.

use super::{
    Block, Capture, Document, ParsedMessage, Position, Speaker, Text, TextEdit,
    captured::{captured_at, fence},
    escape,
};
use flemma_text::Fence;

/// Whether instructions are to be written before a conversation is sent: the model has not said anything, and the file has no
/// `@System:` message of its own.
pub fn lacks_instructions(document: &Document) -> bool {
    document.messages().iter().all(|message| message.role == Speaker::You)
}

/// What was captured for the instructions of a conversation, in order: the name of each, and the lines of its fence.
pub fn captured_instructions(document: &Document, text: &dyn Text) -> Vec<(String, Vec<String>)> {
    let Some(message) = system(document) else { return Vec::new() };
    let captured = captured_blocks(message, text).filter_map(|block| {
        let (written, _) = captured_at(message, block, text)?;
        Some((written, message.lines_of(block).map(|line| text.line(line)).collect()))
    });
    captured.collect()
}

/// The lines of the fence of a capture, as [`captured_instructions`] gives them.
pub fn fence_of(capture: &Capture) -> Vec<String> {
    fence(capture).split_off(1)
}

/// The edits that write instructions, in the order in which to apply them. A conversation without a `@System:` message gets one,
/// with the prompt. Another one keeps its text, and only what was captured for it before is replaced.
pub fn write_instructions(document: &Document, text: &dyn Text, prompt: &str, files: &[Capture]) -> Vec<TextEdit> {
    let mut lines: Vec<String> = files.iter().flat_map(fence).collect();
    let Some(message) = system(document) else {
        if prompt.is_empty() && files.is_empty() {
            return Vec::new();
        }
        let mut message = vec!["@System:".to_owned()];
        // A fence that the prompt leaves open would take what follows.
        let mut open: Option<Fence> = None;
        for line in prompt.lines() {
            let line = escape(line).into_owned();
            open = match open {
                Some(fence) => (!fence.closes(&line)).then_some(fence),
                None => Fence::open(&line).map(|(fence, _)| fence),
            };
            message.push(line);
        }
        message.extend(open.map(|fence| fence.marks()));
        message.append(&mut lines);
        message.extend([String::new(), String::new()]);
        return vec![TextEdit::insert(Position::start_of(document.head().end), message)];
    };
    // From the bottom up, so that an edit does not move the places of the others. Each takes the blank lines above with it.
    let is_blank = |line: &usize| text.is_blank(*line..line + 1);
    let above = |line: usize| line - (message.start + 1..line).rev().take_while(is_blank).count();
    let mut edits: Vec<TextEdit> = captured_blocks(message, text)
        .map(|block| message.lines_of(block))
        .map(|range| TextEdit {
            start: Position::end_of(above(range.start) - 1, text),
            end: Position::end_of(range.end - 1, text),
            lines: vec![String::new()],
        })
        .collect();
    edits.reverse();
    lines.insert(0, String::new());
    match edits.last_mut() {
        Some(first) => first.lines = lines,
        None if files.is_empty() => {}
        None => {
            let last = message.start + (message.start + 1..message.range().end).rev().skip_while(is_blank).count();
            edits.push(TextEdit::insert(Position::end_of(last, text), lines));
        }
    }
    edits
}

fn system(document: &Document) -> Option<&ParsedMessage> {
    document.messages().iter().find(|message| message.role == Speaker::System)
}

/// The blocks of files that were captured. What a reference meant is the user's.
fn captured_blocks<'a>(message: &'a ParsedMessage, text: &'a dyn Text) -> impl Iterator<Item = &'a Block> {
    let is_reference =
        |block: &Block| captured_at(message, block, text).is_none_or(|(written, _)| written.starts_with('@'));
    message.blocks.iter().filter(move |block| block.is_captured() && block.closed && !is_reference(block))
}
