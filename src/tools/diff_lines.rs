//! The lines of a diff that the user is shown below a call, drawn so that a line that goes never looks like one that comes.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::text::{
    diff::{likeness, words},
    diff_line::{self, DrawnLine},
    wrap::wrap_with,
};

/// The most bytes of a line that are kept. No screen is that wide.
const MAX_LINE: usize = 64 * 1024;

/// How long comparing the lines of a file may take.
const TIME: Duration = Duration::from_millis(200);

/// How long comparing two lines word by word may take.
const WORDS_TIME: Duration = Duration::from_millis(5);

/// What stands at the end of a line whose line break goes or comes, if nothing else changes.
const BREAK: &str = "↵";

/// What stands below a last line without a line break.
const NO_BREAK: &str = "\\ No newline at end of file";

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is.
    pub kind: DiffKind,
    /// The line, with its sign.
    pub text: String,
    /// How it is drawn, without its sign.
    drawn: DrawnLine,
}

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// The head of a hunk.
    Hunk,
    /// A line that stays.
    Context,
    /// A line that goes.
    Delete,
    /// A line that comes.
    Add,
    /// How many lines are not shown.
    More,
    /// Something that is said about the file.
    Note,
}

impl DiffKind {
    /// The word for it in Lua.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hunk => "hunk",
            Self::Context => "context",
            Self::Delete => "delete",
            Self::Add => "add",
            Self::More => "more",
            Self::Note => "note",
        }
    }

    fn of(line: &str) -> Self {
        match line.as_bytes().first() {
            Some(b'@') => Self::Hunk,
            Some(b'+') => Self::Add,
            Some(b'-') => Self::Delete,
            Some(b' ') => Self::Context,
            _ => Self::Note,
        }
    }
}

impl DiffLine {
    /// Something that is said about a file.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self::said(DiffKind::Note, text.into())
    }

    /// How many lines are not shown.
    #[must_use]
    pub(super) fn more(count: usize) -> Self {
        let lines = if count == 1 { "line" } else { "lines" };
        Self::said(DiffKind::More, format!("… {count} more {lines}"))
    }

    fn said(kind: DiffKind, text: String) -> Self {
        Self { kind, drawn: DrawnLine::same(&text), text }
    }

    /// The lines of hunks. Each that goes or comes is compared with the one whose place it takes.
    pub(super) fn of_hunks(lines: &[String]) -> Vec<Self> {
        let deadline = Instant::now() + TIME;
        let mut all = Vec::with_capacity(lines.len());
        for hunk in lines.chunk_by(|_, next| DiffKind::of(next) != DiffKind::Hunk) {
            let of_kind = |kind: DiffKind| -> Vec<(usize, &str)> {
                let lines = hunk.iter().enumerate().filter(|(_, line)| DiffKind::of(line) == kind);
                lines.map(|(at, line)| (at, &line[1..])).collect()
            };
            let (gone, come) = (of_kind(DiffKind::Delete), of_kind(DiffKind::Add));
            let lacks_break = |at: usize| hunk.get(at + 1).is_some_and(|next| next == NO_BREAK);
            let draw = |at: usize, line: &str| {
                let kind = DiffKind::of(line);
                let text = line.get(1..).unwrap_or_default();
                let (others, own_first) = match kind {
                    DiffKind::Delete => (&come, true),
                    DiffKind::Add => (&gone, false),
                    DiffKind::Context => return DrawnLine::same(text),
                    _ => return DrawnLine::same(line),
                };
                let place = place_in_run(hunk, at);
                let found = partner(text, place, others, hunk, deadline);
                let Some((other, partner)) = found else { return DrawnLine::alone(text) };
                if text == partner {
                    let drawn = DrawnLine::same(text);
                    let is_marked = !lacks_break(at) && lacks_break(other);
                    return if is_marked { drawn.marked(BREAK) } else { drawn };
                }
                match own_first {
                    true => diff_line::pair(text, partner).0,
                    false => diff_line::pair(partner, text).1,
                }
            };
            for (at, line) in hunk.iter().enumerate() {
                let text = line[..line.floor_char_boundary(MAX_LINE)].to_owned();
                all.push(Self { kind: DiffKind::of(line), drawn: draw(at, line), text });
            }
        }
        all
    }

    /// Whether it has a sign.
    const fn has_sign(&self) -> bool {
        matches!(self.kind, DiffKind::Context | DiffKind::Delete | DiffKind::Add)
    }

    fn fit(&self, width: usize) -> String {
        match self.text.get(..1).filter(|_| self.has_sign()) {
            Some(sign) => format!("{sign}{}", self.drawn.fit(width.saturating_sub(1))),
            None => self.drawn.fit(width),
        }
    }

    /// Lines as they are drawn in so many cells, each with what it is. What is said about a file takes as many lines as it needs.
    #[must_use]
    pub fn fitted(lines: &[Self], width: usize) -> Vec<(DiffKind, String)> {
        let mut drawn: Vec<String> = lines.iter().map(|line| line.fit(width)).collect();
        tell_apart(lines, &mut drawn, width);
        let mut all = Vec::with_capacity(lines.len());
        for (line, drawn) in lines.iter().zip(drawn) {
            if line.kind == DiffKind::Note {
                let whole = line.drawn.fit(usize::MAX);
                all.extend(wrap_with(&whole, width, "").into_iter().map(|row| (line.kind, row)));
            } else {
                all.push((line.kind, drawn));
            }
        }
        all
    }
}

/// Draws lines anew that look like one of the other sign, and are not.
fn tell_apart(lines: &[DiffLine], drawn: &mut [String], width: usize) {
    let mut come: HashMap<String, usize> = HashMap::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.kind == DiffKind::Add) {
        come.entry(drawn[at][1..].to_owned()).or_insert(at);
    }
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.kind == DiffKind::Delete) {
        let Some(&other) = come.get(&drawn[at][1..]) else { continue };
        let (old, new) = (&line.text[1..], &lines[other].text[1..]);
        if old != new {
            let (old, new) = diff_line::pair(old, new);
            let room = width.saturating_sub(1);
            (drawn[at], drawn[other]) = (format!("-{}", old.fit(room)), format!("+{}", new.fit(room)));
        }
    }
}

/// The number of a line among those of the same sign around it.
fn place_in_run(hunk: &[String], at: usize) -> usize {
    let kind = DiffKind::of(&hunk[at]);
    hunk[..at].iter().rev().take_while(|line| DiffKind::of(line) == kind).count()
}

/// The line whose place another one takes: the one that has most in common with it, of `others`.
fn partner<'a>(
    text: &str,
    place: usize,
    others: &[(usize, &'a str)],
    hunk: &[String],
    deadline: Instant,
) -> Option<(usize, &'a str)> {
    if Instant::now() > deadline {
        return others.get(place).copied();
    }
    let scored = others.iter().map(|(at, other)| {
        let is_at_place = place_in_run(hunk, *at) == place;
        let is_equal = text == *other;
        ((is_equal, diff_line::likeness(text, other), is_at_place), (*at, *other))
    });
    let ((is_equal, likeness_found, _), best) = scored.max_by_key(|(score, _)| *score)?;
    if is_equal || likeness_found * 4 >= text.len().min(best.1.len()) {
        return Some(best);
    }
    let mut at_place = others.iter().filter(|(at, _)| place_in_run(hunk, *at) == place);
    let is_like = |other: &str| likeness(&words(text), &words(other), WORDS_TIME) >= 0.5;
    at_place.find(|(_, other)| is_like(other)).copied()
}
