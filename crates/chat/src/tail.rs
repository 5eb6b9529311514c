//! What a conversation ends with, for those who carry it on without a user.

use super::{Block, BlockKind, ParsedMessage, Position, Speaker, Text, TextEdit, syntax};

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

impl Tail {
    /// What the conversation of these messages ends with.
    pub fn of(messages: &[ParsedMessage], text: &dyn Text) -> Self {
        match last_spoken(messages, text) {
            None => Self::Nothing,
            Some(message) if message.role == Speaker::You && has_words(message, text) => Self::Unanswered,
            Some(message) if message.role == Speaker::You => Self::Results,
            Some(message) if is_cut_off(message, text) => Self::CutOff,
            Some(_) => Self::Reply,
        }
    }
}

/// The last message of the user or the model that has content.
fn last_spoken<'a>(messages: &'a [ParsedMessage], text: &dyn Text) -> Option<&'a ParsedMessage> {
    messages.iter().rev().find(|message| message.role != Speaker::System && !is_empty(message, text))
}

fn is_empty(message: &ParsedMessage, text: &dyn Text) -> bool {
    message.blocks.iter().all(|block| is_blank(message, block, text))
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
    block.kind == BlockKind::Text && block.offset > 0 && text.is_blank(message.lines_of(block))
}

/// Deletes the reply at the end of a document that was cut off, so that it can be asked for again, with the empty prompt after
/// it. No edits for a document that ends with anything else ([`Tail::CutOff`]).
pub fn drop_cut_off(messages: &[ParsedMessage], text: &dyn Text) -> Vec<TextEdit> {
    let Some(message) = last_spoken(messages, text).filter(|message| is_cut_off(message, text)) else {
        return Vec::new();
    };
    let mut after = messages.iter().filter(|other| other.start > message.start);
    // Instructions may follow.
    let next = after.find(|message| !is_empty(message, text));
    let (start, end) = match (message.start.checked_sub(1), next) {
        (_, Some(next)) => (Position::start_of(message.start), Position::start_of(next.start)),
        // With the line break before it. A document that begins with it becomes empty.
        (before, None) => {
            let start = before.map_or(Position::start_of(0), |line| Position::end_of(line, text));
            (start, Position::end(text))
        }
    };
    vec![TextEdit { start, end, lines: vec![String::new()] }]
}

/// Marks the reply at the end of a document as aborted, when its writer no longer exists. Open thinking is closed.
/// Nothing is changed if the document does not end with a reply, or if the reply is marked already.
pub fn mark_cut_off(messages: &[ParsedMessage], text: &dyn Text) -> Vec<TextEdit> {
    let Some(message) = messages.last() else { return Vec::new() };
    if message.role != Speaker::Assistant || message.is_aborted() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    match message.blocks.last() {
        Some(block) if !block.closed && matches!(block.kind, BlockKind::Thinking) => {
            lines.extend(["", syntax::THINKING_END]);
        }
        // The marker would become part of the open block. An open block is reported as an error and is not sent.
        Some(_) if message.swallows() => return Vec::new(),
        _ => {}
    }
    lines.extend(["", "", syntax::ABORTED]);
    vec![TextEdit::insert(Position::end(text), lines.into_iter().map(str::to_owned).collect())]
}
