//! Thinking in the prose: servers that do not know a model's form of it send `<think>…</think>` at the beginning of the
//! content, as the templates of DeepSeek and Qwen have it.

/// Where the thinking begins and ends.
const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of the content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Thinking(String),
    Prose(String),
}

/// Finds thinking at the beginning of one reply, however it is cut.
pub(super) struct ThinkTags {
    place: Place,
    /// What may be a part of a tag.
    held: String,
}

enum Place {
    /// There was nothing but white space.
    Start,
    Thinking,
    /// Right behind the thinking, where the model leaves empty lines.
    Behind,
    Prose,
}

impl ThinkTags {
    /// `is_on` is false for a model that may begin with such tags in its prose.
    pub fn new(is_on: bool) -> Self {
        Self { place: if is_on { Place::Start } else { Place::Prose }, held: String::new() }
    }

    /// Takes a piece of content, and says what it is as far as that is known.
    pub fn read(&mut self, text: String) -> Vec<Piece> {
        if matches!(self.place, Place::Prose) {
            return vec![Piece::Prose(text)];
        }
        let mut text = std::mem::take(&mut self.held) + &text;
        let mut pieces = Vec::new();
        if matches!(self.place, Place::Start) {
            let begun = text.trim_start();
            match begun.strip_prefix(OPEN) {
                Some(rest) => (self.place, text) = (Place::Thinking, rest.trim_start().to_owned()),
                None if OPEN.starts_with(begun) => {
                    self.held = text;
                    return pieces;
                }
                None => self.place = Place::Prose,
            }
        }
        if matches!(self.place, Place::Thinking) {
            let thought = match text.split_once(CLOSE) {
                Some((thought, rest)) => {
                    let thought = thought.trim_end().to_owned();
                    (self.place, text) = (Place::Behind, rest.to_owned());
                    thought
                }
                None => {
                    // White space at the end, and what may be the beginning of the tag.
                    let last = text.rfind('<').filter(|at| CLOSE.starts_with(&text[*at..])).unwrap_or(text.len());
                    self.held = text.split_off(text[..last].trim_end().len());
                    std::mem::take(&mut text)
                }
            };
            pieces.push(Piece::Thinking(thought));
        }
        if matches!(self.place, Place::Behind) {
            text = text.trim_start().to_owned();
            if !text.is_empty() {
                self.place = Place::Prose;
            }
        }
        if matches!(self.place, Place::Prose) {
            pieces.push(Piece::Prose(text));
        }
        pieces
    }

    /// What was held back and is no tag.
    pub fn rest(&mut self) -> Piece {
        let held = std::mem::take(&mut self.held);
        if matches!(self.place, Place::Thinking) { Piece::Thinking(held) } else { Piece::Prose(held) }
    }
}
