//! Lines of a diff, drawn in a given width so that what differs is seen.
//!
//! A line that changed is compared with the one whose place it takes ([`pair`]). Where it is too long, what both have in common is
//! left out first, so the `-` line and the `+` line never end in `…` before their first difference. Characters that differ and look
//! the same are named (`Naming::All`).

use std::{borrow::Cow, ops::Range, time::Duration};

use similar::DiffOp;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    diff::{diff, ends, letters, words},
    visible::{Naming, draw, drawn, looks_same},
};

/// Replaces what is left out.
const ELLIPSIS: &str = "…";

/// How long comparing two lines may take.
const TIME: Duration = Duration::from_millis(20);

/// The most bytes that are compared letter by letter, and word by word.
const MAX_LETTERS: usize = 2000;
const MAX_WORDS: usize = 64 * 1024;

/// Less than so many letters between two changes count as changed.
const MIN_SAME: usize = 3;

/// How much of a part is kept at each end, in bytes. No screen is that wide.
const KEPT: usize = 1024;

/// The cells that a part has at least: one that changed, and one that did not. In fewer, later parts are left out.
const LEAST: (usize, usize) = (12, 4);

/// A line that can be drawn in any width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnLine {
    parts: Vec<Part>,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    text: String,
    naming: Naming,
    is_changed: bool,
    /// Whether it is too long for any screen, so that its middle is not here.
    is_shortened: bool,
    /// How many cells it takes; of a part that changed, in the line that is the longer one there.
    cells: usize,
}

/// What two lines have in common, or in which they differ.
#[derive(Clone, Debug)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
    is_same: bool,
}

impl DrawnLine {
    /// A line that did not change.
    pub fn same(text: &str) -> Self {
        Self { parts: vec![Part::of(text, Naming::Hidden, false)] }
    }

    /// A line that comes or goes, and takes the place of no other.
    pub fn alone(text: &str) -> Self {
        let (text, blanks) = text.split_at(text.trim_end_matches([' ', '\t']).len());
        let parts = [(text, Naming::Blanks), (blanks, Naming::All)].into_iter();
        let parts = parts.filter(|(text, _)| !text.is_empty()).map(|(text, naming)| Part::of(text, naming, true));
        Self { parts: parts.collect() }
    }

    /// The same with a mark at its end.
    pub fn marked(mut self, mark: &str) -> Self {
        self.parts.push(Part::of(mark, Naming::Hidden, true));
        self
    }

    /// The line in at most `width` cells. Of a pair of lines, the first difference is in both, if there are at least 12 cells.
    pub fn fit(&self, width: usize) -> String {
        let rooms = self.rooms(width);
        let last = self.parts.len().saturating_sub(1);
        let mut line = String::new();
        for (at, (part, room)) in self.parts.iter().zip(&rooms).enumerate() {
            // The end of a line is cut, and its beginning; of what is the same in between, the middle.
            let halves = match () {
                () if part.is_changed || at == last => 0,
                () if at == 0 => 2,
                () => 1,
            };
            line.push_str(&part.fit(*room, halves));
        }
        if rooms.len() < self.parts.len() && width > 0 {
            line.push_str(ELLIPSIS);
        }
        line
    }

    /// Whether something that changed is left out of the line in `width` cells.
    pub(super) fn loses(&self, width: usize) -> bool {
        let rooms = self.rooms(width);
        self.parts.iter().enumerate().filter(|(_, part)| part.is_changed).any(|(at, part)| {
            let room = rooms.get(at).copied().unwrap_or_default();
            part.is_shortened || part.cells > room && part.own_cells() > room
        })
    }

    /// How many cells the line takes, or the one that it was compared with.
    pub(super) fn cells(&self) -> usize {
        self.parts.iter().map(|part| part.cells).sum()
    }

    /// The line as it is drawn in a window that is wide enough.
    fn whole(&self) -> String {
        self.parts.iter().map(|part| draw(&part.text, part.naming)).collect()
    }

    /// How many cells each part gets; fewer rooms than parts if the last ones are left out.
    fn rooms(&self, width: usize) -> Vec<usize> {
        if self.cells() <= width {
            return self.parts.iter().map(|part| part.cells).collect();
        }
        let least = |part: &Part| part.cells.min(if part.is_changed { LEAST.0 } else { LEAST.1 });
        let mut rooms: Vec<usize> = self.parts.iter().map(least).collect();
        if rooms.iter().sum::<usize>() > width {
            let first = self.parts.iter().position(|part| part.is_changed).map_or(1, |first| first + 1);
            let mut used = 1;
            let fits = rooms.iter().take_while(|room| {
                used += **room;
                used <= width
            });
            rooms.truncate(fits.count().max(first));
            // In a window that is too narrow even for that, what is in front of the change goes.
            for at in [(first > 1).then_some(0), rooms.len().checked_sub(1)].into_iter().flatten() {
                let over = (rooms.iter().sum::<usize>() + 1).saturating_sub(width);
                rooms[at] = rooms[at].saturating_sub(over);
            }
        }
        let is_cut = usize::from(rooms.len() < self.parts.len());
        let mut left = width.saturating_sub(rooms.iter().sum::<usize>() + is_cut);
        for is_changed in [true, false] {
            let mut is_wanting = true;
            while is_wanting {
                is_wanting = false;
                for (part, room) in self.parts.iter().zip(&mut rooms) {
                    if left > 0 && part.is_changed == is_changed && part.cells > *room {
                        (*room, left, is_wanting) = (*room + 1, left - 1, true);
                    }
                }
            }
        }
        rooms
    }
}

impl Part {
    fn of(text: &str, naming: Naming, is_changed: bool) -> Self {
        let shortened = shortened(text);
        let is_shortened = matches!(shortened, Cow::Owned(_));
        let mut part = Self { text: shortened.into_owned(), naming, is_changed, is_shortened, cells: 0 };
        part.cells = part.own_cells();
        part
    }

    fn own_cells(&self) -> usize {
        drawn(&self.text, self.naming).map(|(_, cells)| cells).sum()
    }

    /// The part in so many cells. Of what is left out, so many halves of them are behind it.
    fn fit(&self, room: usize, halves: usize) -> String {
        let pieces: Vec<(Cow<'_, str>, usize)> = drawn(&self.text, self.naming).collect();
        if pieces.iter().map(|(_, cells)| cells).sum::<usize>() <= room {
            return pieces.into_iter().map(|(drawn, _)| drawn).collect();
        } else if room == 0 {
            return String::new();
        }
        let room = room - 1;
        let at_end = room * halves / 2;
        let head = taken(pieces.iter(), room - at_end);
        let tail = taken(pieces.iter().rev(), at_end);
        let head = pieces[..head].iter().map(|(drawn, _)| drawn.as_ref());
        let tail = pieces[pieces.len() - tail..].iter().map(|(drawn, _)| drawn.as_ref());
        head.chain([ELLIPSIS]).chain(tail).collect()
    }
}

/// How many pieces fit into so many cells.
fn taken<'a>(pieces: impl Iterator<Item = &'a (Cow<'a, str>, usize)>, room: usize) -> usize {
    let mut used = 0;
    let fits = pieces.take_while(|(_, cells)| {
        used += cells;
        used <= room
    });
    fits.count()
}

/// A part without the middle, if it is longer than any screen is wide.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * KEPT + ELLIPSIS.len() {
        return Cow::Borrowed(text);
    }
    let (head, tail) = (text.floor_char_boundary(KEPT), text.ceil_char_boundary(text.len() - KEPT));
    Cow::Owned(format!("{}{ELLIPSIS}{}", &text[..head], &text[tail..]))
}

/// A line that goes, and the one that takes its place.
pub fn pair(old: &str, new: &str) -> (DrawnLine, DrawnLine) {
    let changes = changes(old, new);
    let (one, other) = draw_pair(old, new, &changes, None);
    if one.whole() == other.whole() && old != new {
        return draw_pair(old, new, &changes, Some(Naming::All));
    }
    (one, other)
}

fn draw_pair(old: &str, new: &str, changes: &[Change], all: Option<Naming>) -> (DrawnLine, DrawnLine) {
    let (mut one, mut other) = (DrawnLine::default(), DrawnLine::default());
    for change in changes {
        let (old, new) = (&old[change.old.clone()], &new[change.new.clone()]);
        let naming = all.unwrap_or(match () {
            () if change.is_same => Naming::Hidden,
            () if looks_same(old, new) || is_blank(old) && is_blank(new) => Naming::All,
            () => Naming::Blanks,
        });
        let (mut old, mut new) = (Part::of(old, naming, !change.is_same), Part::of(new, naming, !change.is_same));
        old.cells = old.cells.max(new.cells);
        new.cells = old.cells;
        one.parts.push(old);
        other.parts.push(new);
    }
    (one, other)
}

/// Whether a change is one of blanks at the end of a line, of which nothing is seen.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t' | '\r'))
}

/// What two lines have in common, and in what they differ, in turn.
fn changes(old: &str, new: &str) -> Vec<Change> {
    let head = common(old, new, |text, at| text.get(at));
    let tail = common(&old[head..], &new[head..], |text, at| text.iter().nth_back(at));
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut found = vec![Change { old: 0..head, new: 0..head, is_same: true }];
    found.extend(compare(old, new, head..old_end, head..new_end));
    found.push(Change { old: old_end..old.len(), new: new_end..new.len(), is_same: true });
    let found = joined(old, new, found);
    let mut split = Vec::new();
    for change in found {
        if change.is_same {
            split.push(change);
        } else {
            split_change(old, new, change, &mut split);
        }
    }
    split.retain(|change| !change.old.is_empty() || !change.new.is_empty());
    split
}

/// Compares the middles of two lines.
fn compare(old: &str, new: &str, old_range: Range<usize>, new_range: Range<usize>) -> Vec<Change> {
    let whole = || vec![Change { old: old_range.clone(), new: new_range.clone(), is_same: false }];
    let longest = old_range.len().max(new_range.len());
    if old_range.is_empty() || new_range.is_empty() || longest > MAX_WORDS {
        return whole();
    }
    let by = |parts: fn(&str) -> Vec<&str>| -> Vec<Change> {
        let (old_parts, new_parts) = (parts(&old[old_range.clone()]), parts(&new[new_range.clone()]));
        let (old_ends, new_ends) = (ends(old_range.start, &old_parts), ends(new_range.start, &new_parts));
        let ops = diff(&old_parts, &new_parts, TIME);
        let change = |op: &DiffOp| {
            let (old, new) = (op.old_range(), op.new_range());
            let is_same = matches!(op, DiffOp::Equal { .. });
            Change { old: old_ends[old.start]..old_ends[old.end], new: new_ends[new.start]..new_ends[new.end], is_same }
        };
        ops.iter().map(change).collect()
    };
    if longest <= MAX_LETTERS {
        return by(clusters);
    }
    let same = |changes: &[Change]| changes.iter().filter(|change| change.is_same).map(|change| change.old.len()).sum();
    let found = by(words);
    let in_words: usize = same(&found);
    if in_words * 2 > longest {
        return found;
    }
    // A line of generated code has few blanks.
    let closer = by(clusters);
    if same(&closer) > in_words { closer } else { found }
}

/// The clusters of a text; its letters, if there are none of more than one.
fn clusters(text: &str) -> Vec<&str> {
    if text.is_ascii() { letters(text) } else { text.graphemes(true).collect() }
}

/// Joins changes with only a few letters between them: they are seen as one. What looks the same stays on its own.
fn joined(old: &str, new: &str, changes: Vec<Change>) -> Vec<Change> {
    let is_hidden = |change: &Change| looks_same(&old[change.old.clone()], &new[change.new.clone()]);
    let mut found: Vec<Change> = Vec::new();
    for change in changes {
        let joins = match found.as_slice() {
            [.., last] if last.is_same == change.is_same => last.is_same || !(is_hidden(last) || is_hidden(&change)),
            [.., before, between] if !change.is_same && !before.is_same => {
                let is_short = old[between.old.clone()].chars().count() < MIN_SAME;
                if is_short && !is_hidden(before) && !is_hidden(&change) {
                    found.pop();
                    true
                } else {
                    false
                }
            }
            _ => false,
        };
        match found.last_mut().filter(|_| joins) {
            Some(last) => (last.old.end, last.new.end) = (change.old.end, change.new.end),
            None => found.push(change),
        }
    }
    found
}

/// Puts aside what is the same at the ends of a change, letters that only look so at its beginning, and blanks at the end of the
/// line.
fn split_change(old: &str, new: &str, change: Change, split: &mut Vec<Change>) {
    let Change { old: mut a, new: mut b, .. } = change;
    loop {
        let (mut one, mut other) = (old[a.clone()].graphemes(true), new[b.clone()].graphemes(true));
        let (Some(one), Some(other)) = (one.next(), other.next()) else { break };
        let is_same = one == other;
        if !is_same && (!looks_same(one, other) || (one.len() == a.len() && other.len() == b.len())) {
            break;
        }
        let (old, new) = (a.start..a.start + one.len(), b.start..b.start + other.len());
        (a.start, b.start) = (old.end, new.end);
        match split.last_mut().filter(|last| is_same && last.is_same) {
            Some(last) => (last.old.end, last.new.end) = (old.end, new.end),
            None => split.push(Change { old, new, is_same }),
        }
    }
    let text_end = |text: &str, range: &Range<usize>| {
        let is_end = range.end == text.len();
        let blanks = |text: &str| text.trim_end_matches([' ', '\t', '\r']).len();
        if is_end { range.start + blanks(&text[range.clone()]) } else { range.end }
    };
    let (old_end, new_end) = (text_end(old, &a), text_end(new, &b));
    split.push(Change { old: a.start..old_end, new: b.start..new_end, is_same: false });
    split.push(Change { old: old_end..a.end, new: new_end..b.end, is_same: false });
}

/// How many bytes two lines have in common at one of their ends, up to a place between two clusters. `byte` counts from that end.
fn common(old: &str, new: &str, byte: impl Fn(&[u8], usize) -> Option<&u8>) -> usize {
    let (one, other) = (|at| byte(old.as_bytes(), at), |at| byte(new.as_bytes(), at));
    let most = (0..old.len().min(new.len())).take_while(|at| one(*at) == other(*at)).count();
    // Between two ASCII characters, nothing joins.
    let is_plain = |byte: Option<&u8>| byte.is_none_or(|byte| byte.is_ascii_graphic() || *byte == b' ');
    let is_between = |at: usize| is_plain(one(at - 1)) && is_plain(one(at)) && is_plain(other(at));
    let is_whole = |at: usize| one(at).is_none() && other(at).is_none();
    (1..=most).rev().find(|at| is_whole(*at) || is_between(*at)).unwrap_or_default()
}

/// How many bytes two lines have in common at both ends, of the first and the last few thousand.
pub fn likeness(old: &str, new: &str) -> usize {
    let (one, other) = (old.as_bytes(), new.as_bytes());
    let most = one.len().min(other.len());
    let head = one.iter().zip(other).take(4 * KEPT).take_while(|(one, other)| one == other).count();
    let ends = one.iter().rev().zip(other.iter().rev());
    let tail = ends.take((most - head).min(4 * KEPT)).take_while(|(one, other)| one == other).count();
    head + tail
}
