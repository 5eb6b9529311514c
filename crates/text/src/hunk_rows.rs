//! Hunks in rows of the screen, as many as somebody can see there.
//!
//! What comes is drawn below the lines that go. Neovim scrolls to a line and not into the rows that are drawn below it, so a hunk
//! gets the rows that can be reached.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthChar;

use super::{
    diff_line::DrawnLine,
    hunk_lines::{SidedLine, drawn, is_alike, sided},
    hunk_places::HunkPlace,
    unified::{NO_BREAK, readable},
    visible::{Naming, drawn as drawn_clusters},
};

/// How long comparing the lines of hunks may take while somebody waits.
const TIME: Duration = Duration::from_millis(200);

/// A byte order mark.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The most cells of a tab.
const TAB: usize = 8;

/// A hunk that is drawn over a file, in rows of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HunkRows {
    /// For each line that goes the rows in which it is drawn once more; none if the file itself shows what changes in it.
    pub old: Vec<Vec<String>>,
    /// For each line that comes its rows.
    pub new: Vec<Vec<String>>,
    /// How many more lines come than are drawn.
    pub more: usize,
    /// Whether part of what changes in the lines that are drawn did not fit.
    pub is_cut: bool,
}

/// The room for a hunk, and what is not drawn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct HunkRoom {
    /// How many cells a row has.
    pub width: usize,
    /// How many rows the window has.
    pub height: usize,
    /// How many rows a line may take.
    pub rows: usize,
    /// How many lines of each sign are drawn.
    pub lines: usize,
    /// Whether a line of the file is continued in the next row where it is too long, and not cut.
    pub wraps: bool,
    /// Whether all lines end in CR LF, and the CR is not drawn.
    #[serde(rename = "dos")]
    pub is_dos: bool,
    /// Whether both sides begin with a byte order mark, which is not drawn.
    #[serde(rename = "bom")]
    pub has_bom: bool,
}

/// A line that goes or comes, how it is drawn, and the line whose place it takes.
type Drawn<'a> = (DrawnLine, Option<&'a SidedLine<'a>>);

impl HunkRows {
    /// The rows of hunks. It takes a fraction of a second at most.
    pub fn of(old: &[u8], new: &[u8], places: &[HunkPlace], room: HunkRoom) -> Vec<Self> {
        let deadline = Instant::now() + TIME;
        let room = HunkRoom { width: room.width.max(1), rows: room.rows.max(1), ..room };
        let (old, new) = (Lines::of(old, room), Lines::of(new, room));
        let one = |place: &HunkPlace| {
            let (gone, come) = (old.cut(&place.old), new.cut(&place.new));
            let rows = Self::of_one(&gone, &come, old.reach(&place.old), room, deadline);
            Self { more: place.new.len() - rows.new.len(), ..rows }
        };
        places.iter().map(one).collect()
    }

    fn of_one(old: &[String], new: &[String], reach: usize, room: HunkRoom, deadline: Instant) -> Self {
        let (gone, come) = (sided(old), sided(new));
        let [gone_drawn, come_drawn] = drawn(&gone, &come, deadline);
        let is_cut = |drawn: &DrawnLine| drawn.cells() > if room.wraps { room.width * room.rows } else { room.width };
        let is_repeated = |(line, (drawn, other)): (&SidedLine<'_>, &Drawn<'_>)| {
            other.is_some_and(|other| is_alike(line, other) || is_cut(drawn))
        };
        let repeated: Vec<bool> = gone.iter().zip(&gone_drawn).map(is_repeated).collect();
        let again = |((drawn, _), is_repeated): (&Drawn<'_>, &bool)| match is_repeated {
            false => 0,
            true if room.wraps => 1,
            true => height(drawn, room),
        };
        let old_heights: Vec<usize> = gone_drawn.iter().zip(&repeated).map(again).collect();
        let new_heights: Vec<usize> = come_drawn.iter().map(|(drawn, _)| height(drawn, room)).collect();
        let plan = Plan::of(&old_heights, &new_heights, reach);

        let mut is_cut = false;
        let mut rows = |line: &SidedLine<'_>, drawn: &DrawnLine, others: &[SidedLine<'_>], height: usize| {
            let cells = room.width * height.min(plan.rows);
            is_cut |= drawn.loses(cells);
            let mut rows = cut_into_rows(&drawn.fit(cells), room.width);
            if lacks_break(line, others) {
                rows.push(NO_BREAK.to_owned());
            }
            rows
        };
        let new_rows = come.iter().zip(&come_drawn).zip(&new_heights).take(plan.new_lines);
        let new_rows = new_rows.map(|((line, (drawn, _)), height)| rows(line, drawn, &gone, *height)).collect();
        let mut left = plan.old_lines;
        let old_rows = gone.iter().zip(&gone_drawn).zip(&old_heights).map(|((line, (drawn, _)), height)| {
            if *height == 0 || left == 0 {
                return Vec::new();
            }
            left -= 1;
            if room.wraps {
                vec![in_one_row(line, drawn, &come, room.width)]
            } else {
                rows(line, drawn, &come, *height)
            }
        });
        Self { old: old_rows.collect(), new: new_rows, more: 0, is_cut }
    }
}

/// How many rows a line takes: where it is not wrapped, as few as show all that changes in it.
fn height(drawn: &DrawnLine, room: HunkRoom) -> usize {
    let whole = drawn.cells().div_ceil(room.width).clamp(1, room.rows);
    let most = if room.wraps { 1 } else { whole };
    (1..most).find(|rows| !drawn.loses(room.width * rows)).unwrap_or(whole)
}

/// How many lines of a hunk are drawn, and in how many rows each at most.
#[derive(Clone, Copy, Debug)]
struct Plan {
    old_lines: usize,
    new_lines: usize,
    rows: usize,
}

impl Plan {
    /// For lines of these heights, of which as many rows are seen. Long lines get fewer rows before lines are left out.
    fn of(old: &[usize], new: &[usize], reach: usize) -> Self {
        let sum = |rows: usize| old.iter().chain(new).map(|height| height.min(&rows)).sum::<usize>();
        let highest = old.iter().chain(new).copied().max().unwrap_or(1).max(1);
        // One row is for the note that something is left out.
        let rows = (1..=highest).rev().find(|rows| sum(*rows) <= if *rows < highest { reach - 1 } else { reach });
        let old_lines = old.iter().filter(|height| **height > 0).count();
        if let Some(rows) = rows {
            return Self { old_lines, new_lines: new.len(), rows };
        }
        let old_lines = old_lines.min((reach - 1) / 2);
        Self { old_lines, new_lines: new.len().min(reach - 1 - old_lines), rows: 1 }
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
    fn cut(&self, lines: &Range<usize>) -> Vec<String> {
        let lines = self.lines.get(lines.clone()).unwrap_or_default().iter().take(self.room.lines);
        let line = |line: &&[u8]| match line.strip_suffix(b"\r\n").filter(|_| self.room.is_dos) {
            Some(text) => readable(text).into_owned() + "\n",
            None => readable(line).into_owned(),
        };
        lines.map(line).collect()
    }

    /// How many of the rows can be seen that are drawn below these lines, or above the first line of the file.
    fn reach(&self, gone: &Range<usize>) -> usize {
        let HunkRoom { height, .. } = self.room;
        let Some(last) = gone.end.checked_sub(1) else { return height.max(3) - 1 };
        let below = height - self.height(last).min(height);
        // On the way to the next line, the rest can be scrolled into view.
        let after = if gone.end < self.lines.len() { height.saturating_sub(2) } else { 0 };
        (below + after).max(3)
    }

    /// How many rows a line of the file takes; not much more than the window has.
    fn height(&self, line: usize) -> usize {
        let HunkRoom { width, height, wraps, .. } = self.room;
        let Some(line) = self.lines.get(line).filter(|_| wraps) else { return 1 };
        let most = width * (height + 1);
        let text = readable(&line[..line.len().min(most * 4)]).into_owned();
        let mut cells = 0;
        for c in text.trim_end_matches(['\r', '\n']).chars() {
            cells += if c == '\t' { TAB } else { c.width().unwrap_or(2) };
            if cells > most {
                break;
            }
        }
        cells.div_ceil(width).max(1)
    }
}

/// Whether a line is the last one and has no line break, while the other side has one.
fn lacks_break(line: &SidedLine<'_>, others: &[SidedLine<'_>]) -> bool {
    line.lacks_break && !others.iter().any(|other| other.lacks_break)
}

/// A line in one row.
fn in_one_row(line: &SidedLine<'_>, drawn: &DrawnLine, others: &[SidedLine<'_>], width: usize) -> String {
    if lacks_break(line, others) {
        format!("{} {NO_BREAK}", drawn.fit(width.saturating_sub(NO_BREAK.len() + 1)))
    } else {
        drawn.fit(width)
    }
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
