//! Thinking in the prose: servers that do not know a model's form of it send `<think>…</think>` at the beginning of the
//! content, as the templates of DeepSeek and Qwen have it, or `[THINK]…[/THINK]`, as Magistral's does.
//!
//! Some templates have the opening tag in the prompt. Then the reply begins with the thinking, and a line that is nothing but
//! `</think>` tells that all before it was some.

/// Where the thinking begins and ends.
const TAGS: [(&str, &str); 2] = [("<think>", CLOSE), ("[THINK]", "[/THINK]")];

/// What also ends thinking whose beginning was not marked.
const CLOSE: &str = "</think>";

/// A piece of the content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Thinking(String),
    Prose(String),
    /// All prose so far was thinking.
    WasThinking,
}

/// Finds thinking at the beginning of one reply, however it is cut.
pub(super) struct ThinkTags {
    place: Place,
    /// What may be a part of a tag.
    held: String,
}

#[derive(Clone, Copy)]
enum Place {
    /// There was nothing but white space.
    Start,
    /// Up to this tag.
    Thinking(&'static str),
    /// Right behind the thinking, where the model leaves empty lines.
    Behind,
    /// In prose that may turn out to be thinking. What comes next is the start of a line, or not.
    Undecided {
        is_line_start: bool,
    },
    Prose,
}

impl ThinkTags {
    /// `is_on` is false for a model that may begin with such tags in its prose.
    pub fn new(is_on: bool) -> Self {
        Self { place: if is_on { Place::Start } else { Place::Prose }, held: String::new() }
    }

    /// Takes a piece of content, and says what it is as far as that is known.
    pub fn read(&mut self, text: String) -> Vec<Piece> {
        let mut text = std::mem::take(&mut self.held) + &text;
        let mut pieces = Vec::new();
        if let Place::Start = self.place {
            let begun = text.trim_start();
            if let Some((open, close)) = TAGS.into_iter().find(|(open, _)| begun.starts_with(open)) {
                (self.place, text) = (Place::Thinking(close), begun[open.len()..].trim_start().to_owned());
            } else if TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                self.held = text;
                return pieces;
            } else {
                self.place = Place::Undecided { is_line_start: true };
            }
        }
        if let Place::Thinking(close) = self.place {
            let thought = match text.split_once(close) {
                Some((thought, rest)) => {
                    let thought = thought.trim_end().to_owned();
                    (self.place, text) = (Place::Behind, rest.to_owned());
                    thought
                }
                None => {
                    // White space at the end, and what may be the beginning of the tag.
                    let last =
                        text.rfind(&close[..1]).filter(|at| close.starts_with(&text[*at..])).unwrap_or(text.len());
                    self.held = text.split_off(text[..last].trim_end().len());
                    std::mem::take(&mut text)
                }
            };
            pieces.push(Piece::Thinking(thought));
        }
        if let Place::Undecided { is_line_start } = self.place {
            text = self.undecided(text, is_line_start, &mut pieces);
        }
        if let Place::Behind = self.place {
            text = text.trim_start().to_owned();
            if !text.is_empty() {
                self.place = Place::Prose;
            }
        }
        if let Place::Prose = self.place {
            pieces.push(Piece::Prose(text));
        }
        pieces
    }

    /// Looks for a line that tells that all before it was thinking. Gives what comes behind it.
    fn undecided(&mut self, text: String, is_line_start: bool, pieces: &mut Vec<Piece>) -> String {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end();
            let may_be_tag = at > 0 || is_line_start;
            if may_be_tag && bare == CLOSE && bare.len() < line.len() {
                self.place = Place::Behind;
                pieces.extend([Piece::Prose(text[..at].to_owned()), Piece::WasThinking]);
                return text[at + line.len()..].to_owned();
            }
            if may_be_tag && !line.ends_with('\n') && CLOSE.starts_with(bare) {
                break;
            }
            at += line.len();
        }
        self.held = text[at..].to_owned();
        self.place = Place::Undecided {
            is_line_start: text[..at].chars().next_back().map_or(is_line_start, |last| last == '\n'),
        };
        pieces.push(Piece::Prose(text[..at].to_owned()));
        String::new()
    }

    /// What was held back and is no tag.
    pub fn rest(&mut self) -> Piece {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Thinking(_) => Piece::Thinking(held),
            Place::Undecided { .. } if held.trim_end() == CLOSE => Piece::WasThinking,
            _ => Piece::Prose(held),
        }
    }
}
