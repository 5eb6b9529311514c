//! Names of tools in the user's messages, such as `@calculator` or `@{calculator}`.
//!
//! A mention is a whole word: it begins a line, or follows white space or an opening bracket, and nothing but punctuation and
//! closing brackets comes between it and the next white space. With braces, anything may follow. Only the user's own prose
//! has mentions. Code, what begins like a path (`@./file`), and a reference to the editor (`@diff`) has none. Which names mean
//! something is not known here.

use super::{BlockKind, EditorSubject, ParsedMessage, Speaker, Text, at_sign::read_at_signs};

/// The brackets that may precede a mention.
pub(super) const BEFORE: &str = "([{<";

/// What may follow a mention in its word.
const AFTER: &str = ".,;:!?\"'*_>…”’“»)]}";

/// The longest name, in bytes: that of a tool.
const LONGEST: usize = 64;

/// A name in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The line.
    pub line: usize,
    /// The name, without `@` and braces.
    pub name: String,
}

/// The names in a line of prose, in order.
pub(super) fn mentions(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    read_at_signs(line, BEFORE, |_, start, _| {
        let name = mention(&line[start..]);
        found.extend(name);
        name.map_or(0, str::len)
    });
    found
}

/// The name that begins here.
fn mention(text: &str) -> Option<&str> {
    let name =
        |text: &str| text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count();
    if let Some(inside) = text.strip_prefix('{') {
        let (named, behind) = inside.split_at(name(inside));
        return (behind.starts_with('}') && is_name(named)).then_some(named);
    }
    let (named, behind) = text.split_at(name(text));
    // `_` is a part of names and marks emphasis.
    let is_tool = is_name(named) && EditorSubject::from_name(named).is_none();
    (is_tool && ends_word(behind)).then_some(named)
}

/// Whether nothing but punctuation comes between the beginning of a text and its first white space.
pub(super) fn ends_word(text: &str) -> bool {
    let rest = &text[..text.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(text.len())];
    rest.chars().all(|c| AFTER.contains(c))
}

fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
}

/// The names in what the user wrote last, above the line `before`: in the messages with text of their own after the
/// reply before those. Results of tools, and what stands in a status block, are no text of theirs.
pub fn mentioned(messages: &[ParsedMessage], before: usize, text: &dyn Text) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut is_found = false;
    for message in messages.iter().rev().filter(|message| message.start < before) {
        match message.role {
            Speaker::You => is_found |= find_in(message, before, text, &mut found),
            Speaker::Assistant if is_found => break,
            Speaker::Assistant | Speaker::System => {}
        }
    }
    found.sort_by_key(|mention| mention.line);
    found
}

/// Finds the names in a message. Says whether it has text of the user's.
fn find_in(message: &ParsedMessage, before: usize, text: &dyn Text, found: &mut Vec<Mention>) -> bool {
    let mut has_text = false;
    for block in &message.blocks {
        let lines = message.lines_of(block);
        match &block.kind {
            BlockKind::Text => {
                let lines = lines.start..lines.end.min(before.max(lines.start));
                message.read_prose(lines, text, &mut |line, _, prose| {
                    has_text |= !prose.trim().is_empty();
                    found.extend(mentions(prose).into_iter().map(|name| Mention { line, name: name.to_owned() }));
                });
            }
            BlockKind::CodeFence(_) => has_text |= lines.start < before,
            _ => {}
        }
    }
    has_text
}

#[cfg(test)]
#[path = "mention_tests.rs"]
mod tests;
