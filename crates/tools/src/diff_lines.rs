//! The lines of a diff that the user is shown below a call, drawn so that a line that goes never looks like one that comes; and how
//! many lines a change adds and removes.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::Value;

use flemma_text::{
    diff::changes,
    diff_line::{self, DrawnLine},
    hunk_lines::{SidedLine, drawn},
    unified::NO_BREAK,
    wrap::wrap_with,
};

/// The most bytes of a line that are kept. No screen is that wide.
const MAX_LINE: usize = 64 * 1024;

/// How long comparing the lines of a file may take.
const TIME: Duration = Duration::from_millis(200);

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
    pub fn note(text: impl Into<String>) -> Self {
        Self::said(DiffKind::Note, text.into())
    }

    /// How many lines are not shown.
    pub(super) fn more(count: usize) -> Self {
        Self::said(DiffKind::More, format!("… {count} more {}", if count == 1 { "line" } else { "lines" }))
    }

    fn said(kind: DiffKind, text: String) -> Self {
        Self { kind, drawn: DrawnLine::same(&text), text }
    }

    /// The lines of hunks. Each that goes or comes is compared with the one whose place it takes.
    pub(super) fn of_hunks(lines: &[String]) -> Vec<Self> {
        let deadline = Instant::now() + TIME;
        let mut all = Vec::with_capacity(lines.len());
        for hunk in lines.chunk_by(|_, next| DiffKind::of(next) != DiffKind::Hunk) {
            let (gone, come) = (sided(hunk, DiffKind::Delete), sided(hunk, DiffKind::Add));
            let [gone, come] = drawn(&gone, &come, deadline);
            let (mut gone, mut come) = (gone.into_iter(), come.into_iter());
            for line in hunk {
                let kind = DiffKind::of(line);
                let drawn = match kind {
                    DiffKind::Delete => gone.next(),
                    DiffKind::Add => come.next(),
                    DiffKind::Context => Some((DrawnLine::same(&line[1..]), None)),
                    _ => None,
                };
                let drawn = drawn.map(|(drawn, _)| drawn).unwrap_or_else(|| DrawnLine::same(line));
                all.push(Self { kind, drawn, text: line[..line.floor_char_boundary(MAX_LINE)].to_owned() });
            }
        }
        all
    }

    /// Whether it has a sign.
    const fn has_sign(&self) -> bool {
        matches!(self.kind, DiffKind::Context | DiffKind::Delete | DiffKind::Add)
    }

    /// The line in at most `width` cells.
    pub(super) fn fit(&self, width: usize) -> String {
        match self.text.get(..1).filter(|_| self.has_sign()) {
            Some(sign) => format!("{sign}{}", self.drawn.fit(width.saturating_sub(1))),
            None => self.drawn.fit(width),
        }
    }

    /// Lines as they are drawn in so many cells, each with what it is. What is said about a file takes as many lines as it needs.
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

/// The lines of a hunk with one of the signs.
fn sided(hunk: &[String], kind: DiffKind) -> Vec<SidedLine<'_>> {
    let mut found = Vec::new();
    let mut place = 0;
    for (at, line) in hunk.iter().enumerate() {
        if DiffKind::of(line) == kind {
            let lacks_break = hunk.get(at + 1).is_some_and(|next| next == NO_BREAK);
            found.push(SidedLine { text: &line[1..], place, lacks_break });
            place += 1;
        } else {
            place = 0;
        }
    }
    found
}

/// How long counting the changed lines may take.
const COUNTING_TIME: Duration = Duration::from_millis(20);

/// The maximum number of bytes whose changed lines are counted.
const MAX_COUNTED: usize = 1024 * 1024;

/// How many lines a change adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that are added.
    pub added: usize,
    /// Lines that are removed.
    pub removed: usize,
}

impl LineCounts {
    /// What replacing a text by another one changes, as the input of `edit` says it.
    pub(super) fn of_replacing(input: &Value) -> Option<Self> {
        Self::between(input.get("old_text")?.as_str()?, input.get("new_text")?.as_str()?)
    }

    /// The lines that differ between two texts; `None` if they are too long to compare.
    pub fn between(old: &str, new: &str) -> Option<Self> {
        if old.len() + new.len() > MAX_COUNTED {
            return None;
        }
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let changes = changes(&old, &new, COUNTING_TIME);
        let added = changes.iter().map(|op| op.new_range().len()).sum();
        Some(Self { added, removed: changes.iter().map(|op| op.old_range().len()).sum() })
    }

    /// Both counts with their signs: `+12`, `-3`. A zero is left out unless both are zero.
    pub fn words(self) -> (String, String) {
        let word = |sign: &str, count: usize| if count > 0 { format!("{sign}{count}") } else { String::new() };
        match (self.added, self.removed) {
            (0, 0) => ("+0".to_owned(), String::new()),
            (added, removed) => (word("+", added), word("-", removed)),
        }
    }
}
