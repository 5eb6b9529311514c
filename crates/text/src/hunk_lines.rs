//! The lines of a hunk, each compared with the one whose place it takes.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    diff::{likeness, words},
    diff_line::{self, DrawnLine},
    visible::looks_same,
};

/// How long comparing each line with the one in its place may take after that.
const MORE_TIME: Duration = Duration::from_millis(400);

/// Shorter lines fit into most windows, and are seen whole.
const SHORT: usize = 100;

/// The most bytes of two lines that are compared word by word, or by how they look.
const MAX_LOOKS: usize = 4096;

/// How long comparing two lines word by word may take.
const WORDS_TIME: Duration = Duration::from_millis(5);

/// What stands at the end of a line whose line break goes or comes, if nothing else changes.
const BREAK: &str = "↵";

/// A line that goes or comes.
#[derive(Clone, Copy, Debug)]
pub struct SidedLine<'a> {
    /// The line, without its line break.
    pub text: &'a str,
    /// The number of the line among those of the same sign around it.
    pub place: usize,
    /// Whether it is the last one and has no line break.
    pub lacks_break: bool,
}

/// How the lines that go and those that come are drawn, each with the line whose place it takes. After `deadline` they are compared
/// less closely.
pub fn drawn<'a>(
    gone: &'a [SidedLine<'a>],
    come: &'a [SidedLine<'a>],
    deadline: Instant,
) -> [Vec<(DrawnLine, Option<&'a SidedLine<'a>>)>; 2] {
    // Mostly, two lines take the place of each other.
    let mut known: HashMap<(usize, usize), DrawnLine> = HashMap::new();
    // If there is no time left, a line takes the place of the one that was compared with it.
    let mut replaced: HashMap<usize, usize> = HashMap::new();
    let mut draw = |at: usize, is_old: bool| {
        let (line, others) = if is_old { (&gone[at], come) } else { (&come[at], gone) };
        let before = if is_old { None } else { replaced.get(&at).copied() };
        let Some(place) = partner(line, others, deadline).or(before) else {
            return (DrawnLine::alone(line.text), None);
        };
        let other = &others[place];
        if line.text == other.text {
            let drawn = DrawnLine::same(line.text);
            let is_marked = !line.lacks_break && other.lacks_break;
            return (if is_marked { drawn.marked(BREAK) } else { drawn }, Some(other));
        }
        let drawn = if is_old {
            let (drawn, of_other) = diff_line::pair(line.text, other.text);
            known.insert((at, place), of_other);
            replaced.entry(place).or_insert(at);
            drawn
        } else {
            known.remove(&(place, at)).unwrap_or_else(|| diff_line::pair(other.text, line.text).1)
        };
        (drawn, Some(other))
    };
    let old = (0..gone.len()).map(|at| draw(at, true)).collect();
    [old, (0..come.len()).map(|at| draw(at, false)).collect()]
}

/// Which line another one takes the place of: the one that has most in common with it, of `others`.
fn partner(line: &SidedLine<'_>, others: &[SidedLine<'_>], deadline: Instant) -> Option<usize> {
    let is_at_place = |other: &&SidedLine<'_>| other.place == line.place;
    let now = Instant::now();
    if now > deadline {
        let at = others.iter().position(|other| is_at_place(&other)).filter(|_| now < deadline + MORE_TIME)?;
        let is_needed = line.text.len() > SHORT || is_alike(line, &others[at]);
        return is_needed.then_some(at);
    }
    let scored = others.iter().enumerate().map(|(at, other)| {
        let is_equal = line.text == other.text;
        ((is_equal, diff_line::likeness(line.text, other.text), is_at_place(&other)), at)
    });
    let ((is_equal, common, _), best) = scored.max_by_key(|(score, _)| *score)?;
    let longest = line.text.len().max(others[best].text.len());
    if is_equal || common * 4 >= longest.min(MAX_LOOKS) {
        return Some(best);
    }
    let is_like = |other: &SidedLine<'_>| {
        line.text.len() + other.text.len() > MAX_LOOKS
            || likeness(&words(line.text), &words(other.text), WORDS_TIME) >= 0.5
    };
    others.iter().position(|other| is_at_place(&other) && is_like(other))
}

/// Whether nothing is seen to change between two lines.
pub(super) fn is_alike(line: &SidedLine<'_>, other: &SidedLine<'_>) -> bool {
    let (one, other) = (line.text, other.text);
    one.trim_end() == other.trim_end() || (one.len() + other.len() <= MAX_LOOKS && looks_same(one, other))
}

/// Lines of a side, which may have their line breaks.
pub(super) fn sided(pieces: &[String]) -> Vec<SidedLine<'_>> {
    let lines = pieces.iter().enumerate().map(|(place, piece)| {
        let text = piece.strip_suffix('\n');
        SidedLine { text: text.unwrap_or(piece), place, lacks_break: text.is_none() }
    });
    lines.collect()
}
