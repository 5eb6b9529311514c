//! The lines of a hunk, each compared with the one whose place it takes.

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::Range,
    time::{Duration, Instant},
};

use super::{
    diff::{likeness, words},
    diff_line::{self, DrawnLine},
    hunk_places::HunkPlace,
    unified::{NO_BREAK, readable},
    visible::{Naming, drawn as drawn_clusters, looks_same},
};

/// How long comparing the lines of hunks may take while somebody waits.
const TIME: Duration = Duration::from_millis(200);

/// How long comparing each line with the one in its place may take after that.
const MORE_TIME: Duration = Duration::from_millis(400);

/// Shorter lines fit into most windows, and are seen whole.
const SHORT: usize = 100;

/// The most bytes of two lines that are compared word by word, or by how they look.
const MAX_LOOKS: usize = 4096;

/// How long comparing two lines word by word may take.
const WORDS_TIME: Duration = Duration::from_millis(5);

/// A byte order mark.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// What stands at the end of a line whose line break goes or comes, if nothing else changes.
const BREAK: &str = "↵";

/// A line that goes or comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SidedLine<'a> {
    /// The line, without its line break.
    pub(crate) text: &'a str,
    /// The number of the line among those of the same sign around it.
    pub(crate) place: usize,
    /// Whether it is the last one and has no line break.
    pub(crate) lacks_break: bool,
}

/// How the lines that go and those that come are drawn, each with the line whose place it takes. After `deadline` they are compared
/// less closely.
pub(crate) fn drawn<'a>(
    gone: &'a [SidedLine<'a>],
    come: &'a [SidedLine<'a>],
    deadline: Instant,
) -> [Vec<(DrawnLine, Option<&'a SidedLine<'a>>)>; 2] {
    // Mostly, two lines take the place of each other.
    let mut known: HashMap<(usize, usize), DrawnLine> = HashMap::new();
    let mut draw = |at: usize, is_old: bool| {
        let (line, others) = if is_old { (&gone[at], come) } else { (&come[at], gone) };
        let Some(place) = partner(line, others, deadline) else { return (DrawnLine::alone(line.text), None) };
        let other = &others[place];
        if line.text == other.text {
            let drawn = DrawnLine::same(line.text);
            let is_marked = !line.lacks_break && other.lacks_break;
            return (if is_marked { drawn.marked(BREAK) } else { drawn }, Some(other));
        }
        let drawn = if is_old {
            let (drawn, of_other) = diff_line::pair(line.text, other.text);
            known.insert((at, place), of_other);
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

/// A hunk that is drawn over a file, in rows of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HunkRows {
    /// For each line that goes what is drawn of it once more, because the file itself does not show what changes in it.
    pub old: Vec<Option<String>>,
    /// For each line that comes its rows.
    pub new: Vec<Vec<String>>,
    /// For each line that comes the same in one row, if the file itself would not show what changes in it.
    pub same: Vec<Option<String>>,
    /// How many more lines come than are drawn.
    pub more: usize,
}

/// The room for a hunk, and what is not drawn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HunkRoom {
    /// How many cells a row has.
    pub width: usize,
    /// How many rows a line may take.
    pub rows: usize,
    /// How many lines of each sign are drawn.
    pub lines: usize,
    /// Whether a line of the file is continued in the next row where it is too long, and not cut.
    pub wraps: bool,
    /// Whether all lines end in CR LF, and the CR is not drawn.
    pub is_dos: bool,
    /// Whether both sides begin with a byte order mark, which is not drawn.
    pub has_bom: bool,
}

impl HunkRows {
    /// The rows of hunks. It takes a fraction of a second at most.
    #[must_use]
    pub fn of(old: &[u8], new: &[u8], places: &[HunkPlace], room: HunkRoom) -> Vec<Self> {
        let deadline = Instant::now() + TIME;
        let (old, new) = (Lines::of(old, room), Lines::of(new, room));
        let one = |place: &HunkPlace| {
            let (gone, come) = (old.cut(&place.old), new.cut(&place.new));
            Self { more: place.new.len() - come.len(), ..Self::of_one(&gone, &come, room, deadline) }
        };
        places.iter().map(one).collect()
    }

    fn of_one(old: &[Cow<'_, [u8]>], new: &[Cow<'_, [u8]>], room: HunkRoom, deadline: Instant) -> Self {
        let texts =
            |pieces: &[Cow<'_, [u8]>]| pieces.iter().map(|piece| readable(piece).into_owned()).collect::<Vec<_>>();
        let (old, new) = (texts(old), texts(new));
        let (gone, come) = (sided(&old), sided(&new));
        let [gone_drawn, come_drawn] = drawn(&gone, &come, deadline);
        let width = room.width.max(1);
        let is_cut = |drawn: &DrawnLine| drawn.cells() > if room.wraps { width * room.rows } else { width };
        // A last line without a line break says so, if the other side has one.
        let lacks_break = |line: &SidedLine<'_>, others: &[SidedLine<'_>]| line.lacks_break && all_have_breaks(others);
        let in_one_row = |line: &SidedLine<'_>, drawn: &DrawnLine, others: &[SidedLine<'_>]| {
            if lacks_break(line, others) {
                format!("{} {NO_BREAK}", drawn.fit(width.saturating_sub(NO_BREAK.len() + 1)))
            } else {
                drawn.fit(width)
            }
        };
        let old_rows = gone.iter().zip(&gone_drawn).map(|(line, (drawn, other))| {
            let is_needed = other.is_some_and(|other| is_alike(line, other) || is_cut(drawn));
            is_needed.then(|| in_one_row(line, drawn, &come))
        });
        let same = come.iter().zip(&come_drawn).map(|(line, (drawn, other))| {
            other.is_some_and(|other| is_alike(line, other)).then(|| in_one_row(line, drawn, &gone))
        });
        let rows = come.iter().zip(&come_drawn).map(|(line, (drawn, _))| {
            let mut rows = cut_into_rows(&drawn.fit(width * room.rows.max(1)), width);
            if lacks_break(line, &gone) {
                rows.push(NO_BREAK.to_owned());
            }
            rows
        });
        Self { new: rows.collect(), old: old_rows.collect(), same: same.collect(), more: 0 }
    }
}

/// The lines of a content, with their line breaks.
struct Lines<'a> {
    lines: Vec<&'a [u8]>,
    room: HunkRoom,
}

impl<'a> Lines<'a> {
    fn of(content: &'a [u8], room: HunkRoom) -> Self {
        let content = content.strip_prefix(BOM).filter(|_| room.has_bom).unwrap_or(content);
        Self { lines: content.split_inclusive(|byte| *byte == b'\n').collect(), room }
    }

    /// Those of a hunk that are drawn, as they are drawn.
    fn cut(&self, lines: &Range<usize>) -> Vec<Cow<'a, [u8]>> {
        let lines = self.lines.get(lines.clone()).unwrap_or_default().iter().take(self.room.lines);
        let line = |line: &&'a [u8]| match line.strip_suffix(b"\r\n").filter(|_| self.room.is_dos) {
            Some(text) => Cow::Owned([text, b"\n"].concat()),
            None => Cow::Borrowed(*line),
        };
        lines.map(line).collect()
    }
}

/// Whether nothing is seen to change between two lines.
fn is_alike(line: &SidedLine<'_>, other: &SidedLine<'_>) -> bool {
    let (one, other) = (line.text, other.text);
    one.trim_end() == other.trim_end() || (one.len() + other.len() <= MAX_LOOKS && looks_same(one, other))
}

/// Whether none of the lines lacks its line break.
fn all_have_breaks(lines: &[SidedLine<'_>]) -> bool {
    !lines.iter().any(|line| line.lacks_break)
}

fn sided(pieces: &[String]) -> Vec<SidedLine<'_>> {
    let lines = pieces.iter().enumerate().map(|(place, piece)| {
        let text = piece.strip_suffix('\n');
        SidedLine { text: text.unwrap_or(piece), place, lacks_break: text.is_none() }
    });
    lines.collect()
}

/// A line in rows of the screen.
fn cut_into_rows(line: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for (cluster, cells) in drawn_clusters(line, Naming::Hidden) {
        if used + cells > width && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(&cluster);
        }
        used += cells;
    }
    rows
}
