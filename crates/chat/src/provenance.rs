//! Tracks who wrote each line, and whether an `approved` is the user's.
//!
//! Text from a file, a program, a model or undo must not be treated as text that the user wrote. So [`Provenance`]
//! keeps one byte per line beside the [`Document`]. It is told of every change and its [`Author`], and answers two
//! questions:
//!
//! - [`Provenance::is_by_user`]: did the user write these lines in this session? If so, frontmatter runs and the files
//!   named in the lines are sent without a question.
//! - [`Provenance::is_authorised`]: does this line say `approved` because of the user's own edit, or because Flemma
//!   wrote it after a decision, in this session? Only then does it approve a call.
//!
//! Both are allow lists: a line about which nothing is known is neither. The meaning of a line is ignored, so it does
//! not matter whether it was in a valid block when the file was opened.
//!
//! A line that the user edits keeps its author. It becomes the user's when they empty it and type it again, or when
//! they insert it. If a line that another author wrote is inserted elsewhere, or a command writes it over a line of the
//! user's, it was moved, copied or restored, and keeps its author. In the same way, an `approved` that nobody decided does
//! not count if a whole line brings it back. It counts if the user types it, or changes a part of the line to it.

use std::{collections::BTreeMap, ops::Range};

use super::{
    Change, Document, Slice, Text, Update,
    line_scan::{BLANK, Hashes, LineHasher, LineSet, NOT_APPROVED, SAYS_APPROVED},
};

/// Who changed the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The user, by typing in Insert mode. `step` is the number of the undo step that the change belongs to.
    User {
        /// See `:help changenr()`.
        step: u64,
    },
    /// The user, by pasting or a command. `U` restores a line like this, and does not say so.
    Command {
        /// See `:help changenr()`.
        step: u64,
    },
    /// The user, by a command that changes only a part of each line, such as `:substitute`.
    Substitution {
        /// See `:help changenr()`.
        step: u64,
    },
    /// Flemma: markers, status blocks, results.
    Flemma,
    /// A model whose reply is streaming.
    Model,
    /// The file that was opened, another file that was read in, or the output of a command.
    Stranger,
}

/// How a change of several lines was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// As one change.
    Whole,
    /// As one change per line.
    EachLine,
}

/// The user wrote it in this session.
const BY_USER: u8 = 1;

/// The author of every line.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// One byte per line. Inserting a line near the top moves the bytes after it, which copies as many bytes as the
    /// buffer has lines: two microseconds for 80,000.
    lines: Vec<u8>,
    /// The lines that other authors wrote, including deleted ones.
    known: LineSet,
    /// The hashes of lines that the user typed in the frontmatter's place. Undo restores them as the user's.
    typed: Hashes,
    /// The lines that say `approved` because of the user's own edit or after a decision, with the hash of their text.
    authorised: Vec<(usize, u64)>,
    /// The hashes of lines that say `approved` and were not authorised, including deleted ones.
    undecided: Hashes,
    step: Option<EditStep>,
    /// Lines that were attributed to the user earlier in this undo step and turned out not to be theirs.
    suspected: Reattribution,
    hasher: LineHasher,
}

/// Lines whose attribution to the user was, or may be, wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reattribution {
    /// Lines that were attributed to the user and are not theirs.
    pub lost: Vec<Range<usize>>,
    /// All lines that were changed in the same undo step; empty if nothing was wrong.
    pub touched: Vec<Range<usize>>,
}

impl Provenance {
    /// Updates the document after a change (see [`Document::update`]), and the authors of its lines.
    pub fn follow(&mut self, document: &mut Document, change: Change, author: Author, text: &dyn Text) -> Update {
        self.follow_as(Extent::Whole, document, change, author, text)
    }

    /// The same for the user's changes to adjacent single lines. Each line was changed once, by a separate change. The
    /// result equals that of one call of [`Provenance::follow`] per line.
    pub fn follow_lines(&mut self, document: &mut Document, lines: Range<usize>, step: u64, text: &dyn Text) -> Update {
        let change = Change { first: lines.start, old_last: lines.end, new_last: lines.end };
        self.follow_as(Extent::EachLine, document, change, Author::Command { step }, text)
    }

    /// Sets whether a file is still being read. Until its end is known, inserted text may have been copied from there.
    pub fn read(&mut self, is_reading: bool) {
        self.known.is_reading = is_reading;
    }

    /// Reports changed lines whose old text is unknown: they had changed before, or were beyond the lines read so far.
    pub fn missed(&mut self, lines: Range<usize>) {
        let followed = self.lines.get(lines.start..lines.end.min(self.lines.len())).unwrap_or_default();
        let is_behind = lines.end > self.lines.len() && !lines.is_empty();
        self.known.incomplete |= is_behind || followed.iter().any(|flags| flags & (BY_USER | BLANK) == 0);
    }

    fn follow_as(
        &mut self,
        extent: Extent,
        document: &mut Document,
        change: Change,
        author: Author,
        text: &dyn Text,
    ) -> Update {
        let first = change.first.min(self.lines.len());
        let change = Change { first, old_last: change.old_last.clamp(first, self.lines.len()), ..change };
        let new_last = change.new_last.max(first);
        // The lines are read once, for the parser and for their authors.
        let slice = Slice::read(text, first..new_last);
        let update = document.update(change, &slice);
        let mut scan = Vec::with_capacity(new_last - first);
        self.scan(first..new_last, &slice, |_, _, flags, hash| scan.push((flags, hash)));
        scan.resize(new_last - first, (0, 0));
        if let Author::User { step } | Author::Substitution { step } | Author::Command { step } = author {
            self.edited((author, extent), step, change, &scan, document.head().end, text);
        } else {
            self.known.extend(&scan);
            self.undecided.extend(approvals(&scan));
            self.step = None;
            self.lines.splice(first..change.old_last, scan.iter().map(|(flags, _)| *flags));
            self.shift_authorised(change, Vec::new());
        }
        update
    }

    /// Called when the latest changes were undo or redo. The restored text is not attributed to the user.
    pub fn undone(&mut self, text: &dyn Text) -> Reattribution {
        let Some(step) = self.step.take() else { return Reattribution::default() };
        self.withdraw(|line| step.has_touched(line));
        let mut lost = Vec::new();
        for lines in &step.touched {
            for own in self.lines_by_user(lines.clone()) {
                self.look(own.clone(), text, |provenance, at, _, hash| {
                    if !provenance.typed.contains(&hash) {
                        provenance.lines[at] &= !BY_USER;
                        provenance.known.insert(hash);
                    }
                });
                lost.push(own);
            }
        }
        Reattribution { lost, touched: step.touched }
    }

    /// Takes the lines that were attributed to the user earlier in this undo step and turned out not to be theirs.
    pub fn take_suspected(&mut self) -> Reattribution {
        std::mem::take(&mut self.suspected)
    }

    /// The runs of lines in this range that are the user's and not blank.
    fn lines_by_user(&self, lines: Range<usize>) -> Vec<Range<usize>> {
        let (mut at, last) = (lines.start, lines.end.min(self.lines.len()));
        let mut runs = Vec::new();
        let is_by_user = |line: &usize| self.lines[*line] & (BY_USER | BLANK) == BY_USER;
        while let Some(start) = (at..last).find(is_by_user) {
            at = (start..last).find(|line| !is_by_user(line)).unwrap_or(last);
            runs.push(start..at);
        }
        runs
    }

    /// Called when the latest changes are complete and were not undo.
    pub fn settle(&mut self) {
        if let Some(step) = &mut self.step {
            self.typed.extend(step.typed.drain(..));
        }
    }

    /// The undo step of the latest changes, if the user made them.
    pub fn step(&self) -> Option<u64> {
        self.step.as_ref().map(|step| step.id)
    }

    /// Whether [`Provenance::settle`] would change anything.
    pub fn is_unsettled(&self) -> bool {
        self.step.as_ref().is_some_and(|step| !step.typed.is_empty())
    }

    /// Marks lines that came from another file or from a program.
    pub fn read_in(&mut self, lines: Range<usize>, text: &dyn Text) {
        self.step = None;
        self.look(lines, text, |provenance, at, flags, hash| {
            provenance.authorised.retain(|(line, _)| *line != at);
            provenance.undecided.extend(approvals(&[(flags, hash)]));
            provenance.known.insert(hash);
            provenance.typed.remove(&hash);
            provenance.lines[at] = flags;
        });
    }

    /// Marks lines as the user's: the user trusts them.
    pub fn adopt(&mut self, lines: Range<usize>, text: &dyn Text) {
        self.look(lines, text, |provenance, at, _, hash| {
            provenance.typed.insert(hash);
            provenance.lines[at] |= BY_USER;
        });
    }

    /// Authorises the status that this line says: the user, or one of their policies, has just decided it.
    pub fn authorise(&mut self, line: usize, text: &dyn Text) {
        self.look(line..line + 1, text, |provenance, at, flags, hash| {
            provenance.authorised.retain(|(line, _)| *line != at);
            provenance.authorised.extend((flags & SAYS_APPROVED != 0).then_some((at, hash)));
        });
    }

    /// Whether the status on this line was decided in this session.
    pub fn is_authorised(&self, line: usize) -> bool {
        self.authorised.iter().any(|(authorised, _)| *authorised == line)
    }

    /// Whether the user wrote all of these lines in this session. Blank lines are ignored.
    pub fn is_by_user(&self, lines: Range<usize>) -> bool {
        let lines = self.lines.get(lines.start..lines.end.min(self.lines.len()));
        lines.is_some_and(|lines| lines.iter().all(|flags| flags & (BY_USER | BLANK) != 0))
    }

    /// Handles a change by the user: determines which lines and approvals are theirs.
    fn edited(
        &mut self,
        (author, extent): (Author, Extent),
        step: u64,
        change: Change,
        scan: &[(u8, u64)],
        head: usize,
        text: &dyn Text,
    ) {
        let Change { first, old_last, .. } = change;
        let old: Vec<u8> = self.lines[first..old_last].to_vec();
        let in_place = old.len() == scan.len();
        let is_single = old.len() == 1 || (in_place && extent == Extent::EachLine);
        let all_by_user = old.iter().all(|flags| flags & (BY_USER | BLANK) != 0);
        // Swapped lines look like an edit in place.
        let moved = !is_single
            && old.iter().zip(scan).any(|(old, (new, _))| old & SAYS_APPROVED != 0 && new & SAYS_APPROVED == 0);
        let authorised_before = self.authorised.iter().filter(|(line, _)| (first..old_last).contains(line));
        let before_change: BTreeMap<usize, u64> = authorised_before.copied().collect();
        let (mut new, mut typed, mut authorised) = (Vec::with_capacity(scan.len()), Vec::new(), Vec::new());
        for (index, &(flags, hash)) in scan.iter().enumerate() {
            // Inserted whole lines may be copies of another author's. Text typed character by character is not.
            let by_hand = in_place && is_single;
            let before = old.get(index).copied().filter(|_| in_place || (index == 0 && old.len() == 1));
            let replaces_users =
                if in_place { before.is_some_and(|flags| flags & (BY_USER | BLANK) != 0) } else { all_by_user };
            let is_blank = flags & BLANK != 0;
            let is_new = is_blank
                || (by_hand && matches!(author, Author::User { .. }))
                || !self.known.contains(hash)
                || self.was_typed(hash);
            // Changes of one line each see what the ones before them have left.
            let own = replaces_users && (is_new || (extent == Extent::EachLine && typed.contains(&hash)));
            if extent == Extent::EachLine && !own && !is_blank {
                self.known.insert(hash);
            }
            if own && !is_blank && first + index < head && (by_hand || old.is_empty()) {
                typed.push(hash);
            }
            // When several lines change at once, a line with different text may have been moved.
            let was_authorised = before_change.get(&(first + index)).copied();
            // `U` is such a change.
            let may_be_restored = matches!(author, Author::Command { .. }) && self.may_be_undecided(hash);
            let is_authorised = before.is_some_and(|before| match was_authorised {
                Some(before) => before == hash || (is_single && !may_be_restored),
                None => !moved && before & NOT_APPROVED != 0 && !may_be_restored,
            });
            if is_authorised && flags & SAYS_APPROVED != 0 {
                authorised.push((first + index, hash));
            } else {
                self.undecided.extend(approvals(&[(flags, hash)]));
            }
            new.push(flags | if own { BY_USER } else { 0 });
        }
        let foreign = scan.iter().zip(&new).filter(|(_, flags)| **flags & BY_USER == 0);
        self.known.extend(foreign.map(|(seen, _)| seen));
        self.lines.splice(first..old_last, new);
        self.shift_authorised(change, authorised);
        self.note_step(change, step, typed);
        if !in_place && !all_by_user {
            self.suspect(first..first + scan.len(), text);
        }
    }

    /// Updates the positions of the authorised lines after a change. `authorised` are the authorised ones among the
    /// changed lines.
    fn shift_authorised(&mut self, change: Change, authorised: Vec<(usize, u64)>) {
        self.authorised.retain(|(line, _)| !(change.first..change.old_last).contains(line));
        for (line, _) in &mut self.authorised {
            if *line >= change.old_last {
                *line = *line - change.old_last + change.new_last;
            }
        }
        self.authorised.extend(authorised);
    }

    /// Text of another author was deleted in the same step, so it may have been moved into these lines (`:move`, `J`).
    ///
    /// Only lines attributed to the user have to be scanned, and no line twice.
    fn suspect(&mut self, except: Range<usize>, text: &dyn Text) {
        let Some(mut step) = self.step.take() else { return };
        step.typed.clear();
        let unsuspected = std::mem::replace(&mut step.unsuspected, vec![except.clone()]);
        self.suspected.touched.clone_from(&step.touched);
        self.withdraw(|line| !except.contains(&line) && step.has_touched(line));
        self.step = Some(step);
        for lines in unsuspected {
            for part in [lines.start..lines.end.min(except.start), lines.start.max(except.end)..lines.end] {
                for own in self.lines_by_user(part) {
                    self.look(own.clone(), text, |provenance, at, _, hash| {
                        provenance.lines[at] &= !BY_USER;
                        provenance.known.insert(hash);
                    });
                    self.suspected.lost.push(own);
                }
            }
        }
    }

    fn note_step(&mut self, change: Change, id: u64, typed: Vec<u64>) {
        if self.step.as_ref().is_some_and(|step| step.id != id) {
            self.settle();
            self.step = None;
        }
        self.step.get_or_insert_with(|| EditStep::new(id)).add(change, typed);
    }

    /// These lines are no longer authorised.
    fn withdraw(&mut self, is_withdrawn: impl Fn(usize) -> bool) {
        let undecided = &mut self.undecided;
        self.authorised.retain(|(line, hash)| {
            let is_kept = !is_withdrawn(*line);
            undecided.extend((!is_kept).then_some(*hash));
            is_kept
        });
    }

    /// Whether a line with this text, which says `approved`, was or may have been in the buffer without a decision.
    fn may_be_undecided(&self, hash: u64) -> bool {
        self.known.is_unsure() || self.undecided.contains(&hash)
    }

    fn was_typed(&self, hash: u64) -> bool {
        self.typed.contains(&hash) || self.step.as_ref().is_some_and(|step| step.typed.contains(&hash))
    }

    /// Scans lines that are followed, and calls `each` with the number, the flags and the hash of each.
    fn look(&mut self, lines: Range<usize>, text: &dyn Text, each: impl FnMut(&mut Self, usize, u8, u64)) {
        self.scan(lines.start..lines.end.min(self.lines.len()), text, each);
    }

    fn scan(&mut self, lines: Range<usize>, text: &dyn Text, mut each: impl FnMut(&mut Self, usize, u8, u64)) {
        let mut at = lines.start;
        text.read(lines, &mut |words: &str| {
            let (flags, hash) = self.hasher.scan(words);
            each(self, at, flags, hash);
            at += 1;
        });
    }
}

/// The hashes of the lines that say `approved`.
fn approvals(lines: &[(u8, u64)]) -> impl Iterator<Item = u64> {
    lines.iter().filter(|(flags, _)| flags & SAYS_APPROVED != 0).map(|(_, hash)| *hash)
}

/// The maximum number of separate places that are tracked in one undo step.
const PLACES: usize = 64;

/// The undo step of the user's latest changes.
#[derive(Clone, Debug)]
struct EditStep {
    id: u64,
    /// The changed lines, in the current numbering.
    touched: Vec<Range<usize>>,
    /// The part of them that may contain text attributed to the user since text of another author was deleted in this
    /// step.
    unsuspected: Vec<Range<usize>>,
    /// The hashes of the lines typed in it, unless it turns out to be undo.
    typed: Vec<u64>,
}

impl EditStep {
    /// A step that has changed nothing yet.
    fn new(id: u64) -> Self {
        Self { id, touched: Vec::new(), unsuspected: Vec::new(), typed: Vec::new() }
    }

    /// Adds a change, with the hashes of the lines typed in it.
    fn add(&mut self, change: Change, typed: Vec<u64>) {
        self.typed.extend(typed);
        touch(&mut self.touched, change);
        touch(&mut self.unsuspected, change);
    }

    /// Whether it has changed this line.
    fn has_touched(&self, line: usize) -> bool {
        self.touched.iter().any(|lines| lines.contains(&line))
    }
}

/// Adds the changed lines to the places changed before, and moves those with the change.
fn touch(places: &mut Vec<Range<usize>>, Change { first, old_last, new_last }: Change) {
    let moved = |line: usize| line + new_last - old_last;
    let mut merged = first..new_last;
    let mut touched = Vec::with_capacity(places.len() + 1);
    for range in places.drain(..) {
        if range.end < first {
            touched.push(range);
        } else if range.start > old_last {
            touched.push(moved(range.start)..moved(range.end));
        } else {
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(if range.end > old_last { moved(range.end) } else { new_last });
        }
    }
    touched.push(merged);
    if touched.len() > PLACES {
        let start = touched.iter().map(|range| range.start).min().unwrap_or(first);
        let end = touched.iter().map(|range| range.end).max().unwrap_or(new_last);
        touched.clear();
        touched.push(start..end);
    }
    *places = touched;
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
