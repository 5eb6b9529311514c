//! What is drawn over a line, or in place of a fold: text in colours, and how it is put together.

use jiff::SignedDuration;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use flemma_tools::preview;

/// Text in one colour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chunk {
    /// The text: one line without control characters.
    pub text: String,
    /// The highlight group.
    pub group: &'static str,
}

/// What is drawn over a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The line, from 0.
    pub line: usize,
    /// The highlight group of the whole line; `None` if it has none of its own.
    pub background: Option<&'static str>,
    /// Over the beginning of the text.
    pub left: Vec<Chunk>,
    /// At the right edge.
    pub right: Vec<Chunk>,
    /// Whether it covers the whole line. Otherwise the text behind `left` is visible.
    pub whole: bool,
}

/// How lines are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookStyle {
    /// The cells of a line.
    pub width: usize,
    /// Which signs are used.
    pub signs: Signs,
    /// How far local time is ahead of UTC.
    pub offset: SignedDuration,
}

/// Which signs are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signs {
    /// ASCII before calls, and common signs for what became of them.
    #[default]
    Plain,
    /// Those of a Nerd Font before calls.
    Nerd,
    /// ASCII only.
    Ascii,
}

impl Look {
    /// The look as one line of `width` cells, for a fold: what is at the right is left out first, and the rest is cut.
    pub(crate) fn into_line(self, width: usize) -> Vec<Chunk> {
        let cells = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.text.width()).sum::<usize>();
        let Self { left: mut line, right, background, .. } = self;
        let (used, room) = (cells(&line), cells(&right));
        let fits = used + room <= width;
        let blank = width.saturating_sub(if fits { used + room } else { used });
        line.push(chunk(" ".repeat(blank), background.unwrap_or("FlemmaFold")));
        if fits {
            line.extend(right);
        }
        let mut room = width;
        line.retain_mut(|chunk| {
            if chunk.text.width() > room {
                chunk.text = preview::clip(&chunk.text, room);
            }
            room -= chunk.text.width().min(room);
            !chunk.text.is_empty()
        });
        line
    }

    /// Replaces our own symbols by ASCII, as wide as before.
    pub(crate) fn into_ascii(mut self) -> Self {
        for chunk in self.left.iter_mut().chain(&mut self.right) {
            chunk.text = chunk.text.replace('\u{2026}', "~").replace('\u{2936}', "|").replace('\u{b7}', "-");
        }
        self
    }
}

/// Text in one colour.
pub(crate) fn chunk(text: impl Into<String>, group: &'static str) -> Chunk {
    Chunk { text: text.into(), group }
}

/// A number of lines, as it is said at the right edge.
pub(crate) fn lines(count: usize) -> Chunk {
    let words = if count == 1 { "1 line ".to_owned() } else { format!("{count} lines ") };
    chunk(words, "FlemmaMeta")
}
