//! What a conversation ends with, for those who carry it on without a user.

use super::{Block, BlockKind, Document, ParsedMessage, Position, Speaker, Text, TextEdit};

/// What a conversation ends with. Messages without content do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// It has no message that could be sent or answered.
    Nothing,
    /// The user's message: the model has not replied to it yet.
    Unanswered,
    /// Results of tools, without a word of the user's: the model has not replied to them yet.
    Results,
    /// The model's reply.
    Reply,
    /// A reply that was cut off, and nothing after it.
    CutOff,
}

impl Document {
    /// What the conversation ends with.
    #[must_use]
    pub fn tail(&self, text: &dyn Text) -> Tail {
        match self.last_spoken(text) {
            None => Tail::Nothing,
            Some(message) if message.role == Speaker::You && has_words(message, text) => Tail::Unanswered,
            Some(message) if message.role == Speaker::You => Tail::Results,
            Some(message) if is_cut_off(message, text) => Tail::CutOff,
            Some(_) => Tail::Reply,
        }
    }

    /// The last message of the user or the model that has content.
    fn last_spoken(&self, text: &dyn Text) -> Option<&ParsedMessage> {
        let spoken = self.messages().iter().rev().filter(|message| message.role != Speaker::System);
        spoken.into_iter().find(|message| message.blocks.iter().any(|block| !is_blank(message, block, text)))
    }
}

/// Whether the reply ends with the mark of one that was cut off. Calls in it never run; if they have results, these are an
/// answer.
fn is_cut_off(message: &ParsedMessage, text: &dyn Text) -> bool {
    let last = message.blocks.iter().rfind(|block| !is_blank(message, block, text));
    last.is_some_and(|block| block.kind == BlockKind::Aborted)
}

/// Whether the user has written something into a message, beside the results of tools.
fn has_words(message: &ParsedMessage, text: &dyn Text) -> bool {
    message.blocks.iter().any(|block| !block.is_tool() && !is_blank(message, block, text))
}

fn is_blank(message: &ParsedMessage, block: &Block, text: &dyn Text) -> bool {
    let mut is_blank = block.kind == BlockKind::Text && block.offset > 0;
    if is_blank {
        text.read(message.lines_of(block), &mut |line| is_blank &= line.trim().is_empty());
    }
    is_blank
}

/// Deletes the reply at the end of a document that was cut off, so that it can be asked for again, with the empty prompt after
/// it. No edits for a document that ends with anything else ([`Tail::CutOff`]).
#[must_use]
pub fn drop_cut_off(document: &Document, text: &dyn Text) -> Vec<TextEdit> {
    let Some(message) = document.last_spoken(text).filter(|message| is_cut_off(message, text)) else {
        return Vec::new();
    };
    let is_blank = |message: &ParsedMessage| message.blocks.iter().all(|block| is_blank(message, block, text));
    let after = document.messages().iter().filter(|other| other.start > message.start);
    // Instructions may follow.
    let next = after.into_iter().find(|message| !is_blank(message)).map(|message| message.start);
    let (start, end) = match (message.start.checked_sub(1), next) {
        (_, Some(next)) => (Position { line: message.start, column: 0 }, Position { line: next, column: 0 }),
        // With the line break before it. A document that begins with it becomes empty.
        (before, None) => {
            let last = text.line_count().saturating_sub(1);
            let start =
                before.map_or(Position { line: 0, column: 0 }, |line| Position { line, column: text.length(line) });
            (start, Position { line: last, column: text.length(last) })
        }
    };
    vec![TextEdit { start, end, lines: vec![String::new()] }]
}
