//! Who wrote which line, and whose word an `approved` is.
//!
//! Text that came with a file, from a program, from a model or back through undo must not act as what the user wrote.
//! [`Provenance`] therefore keeps one byte per line beside the [`Document`]. It is told of every change and of the
//! [`Author`] that made it, and answers two questions:
//!
//! - [`Provenance::is_by_user`]: did the user write these lines in this session? Then frontmatter runs without a question, and
//!   the files that the lines name are sent without one.
//! - [`Provenance::is_authorised`]: does this line say `approved` because the user's own edit, or Flemma after a decision,
//!   made it say so in this session? Only then does it approve anything.
//!
//! Both are lists of what is allowed: a line of which nothing is known counts for nothing. What a line means plays no
//! part, so it does not matter whether it stood in a block that could be read when the file was opened.
//!
//! A line that the user edits keeps its author. It becomes theirs when they empty it and type it anew, or when they
//! insert it. A line that somebody else wrote and that is inserted elsewhere was moved or copied, and stays theirs.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use super::{
    Change, Document, Text, Update,
    line_scan::{BLANK, LineHasher, LineScan, NOT_APPROVED, SAYS_APPROVED, ScannedText},
};

/// Who changes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The user, by typing, pasting or a command. `step` numbers the step of undo that the change belongs to.
    User {
        /// See `:help changenr()`.
        step: u64,
    },
    /// Flemma: markers, status blocks, results.
    Flemma,
    /// A model whose reply streams in. Its lines are not looked at.
    Model,
    /// The file that is opened, another file that is read in, or the output of a command.
    Stranger,
}

/// What a change of several lines is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// One change.
    Whole,
    /// As many changes as lines.
    EachLine,
}

/// The user wrote it in this session.
const BY_USER: u8 = 1;

/// As many separate places of one step of undo are told apart.
const PLACES: usize = 64;

/// The author of every line.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// One byte a line. Inserting a line near the top moves the bytes behind it, which is a copy of as many bytes as the
    /// buffer has lines: two microseconds for 80,000.
    lines: Vec<u8>,
    /// The lines that somebody else wrote, those that are gone by now included.
    known: LineSet,
    /// The lines of a reply that streams in, which nobody has looked at yet.
    streamed: Option<Range<usize>>,
    /// The lines that the user typed where code may stand, by hash: undo brings them back as theirs.
    typed: Hashes,
    /// The lines that say `approved` because of the user's own edit or after a decision, and what they say, by hash.
    authorised: Vec<(usize, u64)>,
    step: Option<EditStep>,
    /// Lines that were taken for the user's earlier in this step of undo, and are not theirs after all.
    suspected: Reattribution,
    hasher: LineHasher,
}

/// The step of undo in which the user made their latest changes.
#[derive(Clone, Debug)]
struct EditStep {
    id: u64,
    /// What was changed in it, as it is numbered now.
    touched: Vec<Range<usize>>,
    /// What of that may hold text that was taken for the user's since somebody else's text went in this step.
    unsuspected: Vec<Range<usize>>,
    /// What was typed in it, unless it turns out to be undo.
    typed: Vec<u64>,
}

/// Hashes of lines. They are random numbers, which a fast hasher is enough for.
type Hashes = HashSet<u64, foldhash::fast::RandomState>;

/// Lines that are not, or may not be, what they were taken for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reattribution {
    /// Those that were taken for the user's and are not theirs after all.
    pub lost: Vec<Range<usize>>,
    /// All that were changed in the same step of undo; none if there is no doubt.
    pub touched: Vec<Range<usize>>,
}

/// A set of lines, as hashes.
#[derive(Clone, Debug, Default)]
struct LineSet {
    hashes: Hashes,
    /// Those that are not in `hashes` yet. To put a line there costs as much as to parse it, and of most nobody ever asks.
    loose: Vec<u64>,
    /// Some are missing, so that any may be in it.
    incomplete: bool,
    /// Some are still to come, so that any may be in it for the time being.
    is_reading: bool,
}

impl LineSet {
    fn insert(&mut self, hash: u64) {
        self.loose.push(hash);
    }

    /// Takes lines as they were seen. Blank ones are everybody's, and nobody asks about them.
    fn extend<'a>(&mut self, lines: impl IntoIterator<Item = &'a (u8, u64)>) {
        self.loose.extend(lines.into_iter().filter(|(flags, _)| flags & BLANK == 0).map(|(_, hash)| *hash));
    }

    /// Puts so many of the loose ones in their place.
    fn index(&mut self, count: usize) {
        let kept = self.loose.len().saturating_sub(count);
        self.hashes.extend(self.loose.drain(kept..));
        if kept == 0 {
            self.loose = Vec::new();
        }
    }

    fn contains(&mut self, hash: u64) -> bool {
        if self.incomplete || self.is_reading {
            return true;
        }
        self.index(usize::MAX);
        self.hashes.contains(&hash)
    }
}

impl Provenance {
    /// Brings the document up to date after a change (see [`Document::update`]), and the authors of its lines with it.
    pub fn follow(&mut self, document: &mut Document, change: Change, author: Author, text: &dyn Text) -> Update {
        self.follow_as(Extent::Whole, document, change, author, text)
    }

    /// The same for changes of the user's to single lines that stand next to each other: each line was changed once, by a
    /// change of its own, and none has changed since. The authors are those that so many calls of [`Provenance::follow`]
    /// would have found.
    pub fn follow_lines(&mut self, document: &mut Document, lines: Range<usize>, step: u64, text: &dyn Text) -> Update {
        let change = Change { first: lines.start, old_last: lines.end, new_last: lines.end };
        self.follow_as(Extent::EachLine, document, change, Author::User { step }, text)
    }

    /// Gets ready to be asked about the lines of a file that was opened: about so many of them. Says whether there are more.
    pub fn index(&mut self, lines: usize) -> bool {
        self.known.index(lines);
        !self.known.loose.is_empty()
    }

    /// Whether a file is being read, of which only the first lines were followed so far. Until its end is known, whatever
    /// is inserted may have been copied from there.
    pub fn read(&mut self, is_reading: bool) {
        self.known.is_reading = is_reading;
    }

    /// These lines have changed, and nobody has looked at what they were: they changed once more before, or stood behind the
    /// lines that were followed.
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
        if author == Author::Model {
            let update = document.update(change, text);
            self.step = None;
            self.lines.splice(first..change.old_last, std::iter::repeat_n(0, new_last - first));
            self.shift_authorised(change, Vec::new());
            let before = self.streamed.take().unwrap_or(first..first);
            self.streamed = Some(before.start.min(first)..before.end.max(new_last));
            return update;
        }
        self.look_at_reply(change, text);
        let scan = RefCell::new(LineScan::new(first..new_last));
        let scanned = ScannedText { text, each: &|line, words| scan.borrow_mut().record(line, words, &self.hasher) };
        let update = document.update(change, &scanned);
        let scan = scan.into_inner();
        match author {
            Author::User { step } => self.edited(extent, change, step, &scan, document.head().end, text),
            Author::Flemma | Author::Stranger | Author::Model => {
                self.known.extend(&scan.lines);
                self.step = None;
                self.lines.splice(first..change.old_last, scan.lines.iter().map(|(flags, _)| *flags));
                self.shift_authorised(change, Vec::new());
            }
        }
        update
    }

    /// The changes of the latest step were undo or redo: what they brought back, nobody wrote.
    pub fn undone(&mut self, text: &dyn Text) -> Reattribution {
        let Some(step) = self.step.take() else { return Reattribution::default() };
        self.authorised.retain(|(line, _)| !step.touched.iter().any(|lines| lines.contains(line)));
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

    /// Takes the lines that were taken for the user's earlier in this step of undo and are not theirs after all.
    pub fn take_suspected(&mut self) -> Reattribution {
        std::mem::take(&mut self.suspected)
    }

    /// The runs of lines among these that count as the user's and are not blank.
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

    /// The latest changes are over, and were not undo.
    pub fn settle(&mut self) {
        if let Some(step) = &mut self.step {
            self.typed.extend(step.typed.drain(..));
        }
    }

    /// The step of undo that the latest changes belong to, if the user made them.
    #[must_use]
    pub fn step(&self) -> Option<u64> {
        self.step.as_ref().map(|step| step.id)
    }

    /// Whether [`Provenance::settle`] has anything to do.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.step.as_ref().is_some_and(|step| !step.typed.is_empty())
    }

    /// These lines came from another file or from a program, and the user has written nothing of them.
    pub fn read_in(&mut self, lines: Range<usize>, text: &dyn Text) {
        self.step = None;
        self.look(lines, text, |provenance, at, flags, hash| {
            provenance.authorised.retain(|(line, _)| *line != at);
            provenance.known.insert(hash);
            provenance.typed.remove(&hash);
            provenance.lines[at] = flags;
        });
    }

    /// The user takes these lines as their own: they trust them.
    pub fn adopt(&mut self, lines: Range<usize>, text: &dyn Text) {
        self.look(lines, text, |provenance, at, _, hash| {
            provenance.typed.insert(hash);
            provenance.lines[at] |= BY_USER;
        });
    }

    /// What this line says was just decided, by the user or by a policy of theirs.
    pub fn authorise(&mut self, line: usize, text: &dyn Text) {
        self.look(line..line + 1, text, |provenance, at, flags, hash| {
            provenance.authorised.retain(|(line, _)| *line != at);
            provenance.authorised.extend((flags & SAYS_APPROVED != 0).then_some((at, hash)));
        });
    }

    /// Whether this line says what it says because it was decided in this session.
    #[must_use]
    pub fn is_authorised(&self, line: usize) -> bool {
        self.authorised.iter().any(|(authorised, _)| *authorised == line)
    }

    /// Whether the user wrote all of these lines in this session. Blank lines are everybody's.
    #[must_use]
    pub fn is_by_user(&self, lines: Range<usize>) -> bool {
        let lines = self.lines.get(lines.start..lines.end.min(self.lines.len()));
        lines.is_some_and(|lines| lines.iter().all(|flags| flags & (BY_USER | BLANK) != 0))
    }

    /// The user's change: which lines are theirs, and which approvals.
    fn edited(&mut self, extent: Extent, change: Change, step: u64, scan: &LineScan, head: usize, text: &dyn Text) {
        let Change { first, old_last, .. } = change;
        let old: Vec<u8> = self.lines[first..old_last].to_vec();
        let in_place = old.len() == scan.lines.len();
        let is_single = old.len() == 1 || (in_place && extent == Extent::EachLine);
        let all_by_user = old.iter().all(|flags| flags & (BY_USER | BLANK) != 0);
        // Lines that trade places are an edit in place for all that can be seen of them.
        let moved = !is_single
            && old.iter().zip(&scan.lines).any(|(old, (new, _))| old & SAYS_APPROVED != 0 && new & SAYS_APPROVED == 0);
        let authorised_before = self.authorised.iter().filter(|(line, _)| (first..old_last).contains(line));
        let before_change: BTreeMap<usize, u64> = authorised_before.copied().collect();
        let (mut new, mut typed, mut authorised) = (Vec::with_capacity(scan.lines.len()), Vec::new(), Vec::new());
        for (index, &(flags, hash)) in scan.lines.iter().enumerate() {
            // Whole lines that come in may be copies of somebody else's. What is typed letter by letter is not.
            let by_hand = in_place && is_single;
            let before = old.get(index).copied().filter(|_| in_place || (index == 0 && old.len() == 1));
            let replaces_users =
                if in_place { before.is_some_and(|flags| flags & (BY_USER | BLANK) != 0) } else { all_by_user };
            let is_blank = flags & BLANK != 0;
            let own = replaces_users && (by_hand || is_blank || self.was_typed(hash) || !self.known.contains(hash));
            if own && !is_blank && first + index < head && (by_hand || old.is_empty()) {
                typed.push(hash);
            }
            // Of several lines that change at once, one that says something else than before may have been moved.
            let was_authorised = before_change.get(&(first + index)).copied();
            let is_authorised = before.is_some_and(|before| match was_authorised {
                Some(before) => is_single || before == hash,
                None => !moved && before & NOT_APPROVED != 0,
            });
            if is_authorised && flags & SAYS_APPROVED != 0 {
                authorised.push((first + index, hash));
            }
            new.push(flags | if own { BY_USER } else { 0 });
        }
        let foreign = scan.lines.iter().zip(&new).filter(|(_, flags)| **flags & BY_USER == 0);
        self.known.extend(foreign.map(|(seen, _)| seen));
        self.lines.splice(first..old_last, new);
        self.shift_authorised(change, authorised);
        self.note_step(change, step, typed);
        if !in_place && !all_by_user {
            self.suspect(first..first + scan.lines.len(), text);
        }
    }

    /// Moves the authorised lines along with a change. Of the changed lines, `authorised` are.
    fn shift_authorised(&mut self, change: Change, authorised: Vec<(usize, u64)>) {
        self.authorised.retain(|(line, _)| !(change.first..change.old_last).contains(line));
        for (line, _) in &mut self.authorised {
            if *line >= change.old_last {
                *line = *line - change.old_last + change.new_last;
            }
        }
        self.authorised.extend(authorised);
    }

    /// Remembers a reply that has stopped streaming. `text` is the text after `change`, the first one since.
    fn look_at_reply(&mut self, change: Change, text: &dyn Text) {
        let Some(lines) = self.streamed.take() else { return };
        let moved = |line: usize| (line + change.new_last).saturating_sub(change.old_last);
        let before = lines.start.min(change.first)..lines.end.min(change.first);
        let behind = moved(lines.start.max(change.old_last))..moved(lines.end.max(change.old_last));
        let mut seen = Vec::with_capacity(before.len() + behind.len());
        for (lines, offset) in [(before, 0), (behind, change.new_last.cast_signed() - change.old_last.cast_signed())] {
            let mut at = lines.start;
            text.read(lines, &mut |words: &str| {
                let (flags, hash) = self.hasher.scan(words);
                seen.push((at.saturating_add_signed(-offset), flags, hash));
                at += 1;
            });
        }
        for (at, flags, hash) in seen {
            self.known.insert(hash);
            if let Some(line) = self.lines.get_mut(at) {
                *line |= flags;
            }
        }
        // Lines of it are gone, and nobody knows what they were.
        self.known.incomplete |= change.first < lines.end && lines.start < change.old_last;
    }

    /// Lines of somebody else's went in the step that changed these: their text may have moved into them (`:move`, `J`).
    ///
    /// Of lines that are not the user's everything is known already, so only those that are have to be looked at, and no
    /// line twice.
    fn suspect(&mut self, except: Range<usize>, text: &dyn Text) {
        let Some(step) = &mut self.step else { return };
        step.typed.clear();
        let unsuspected = std::mem::replace(&mut step.unsuspected, vec![except.clone()]);
        self.suspected.touched.clone_from(&step.touched);
        let touched = std::mem::take(&mut step.touched);
        self.authorised.retain(|(line, _)| except.contains(line) || !touched.iter().any(|lines| lines.contains(line)));
        if let Some(step) = &mut self.step {
            step.touched = touched;
        }
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
        let step = self.step.get_or_insert_with(|| EditStep {
            id,
            touched: Vec::new(),
            unsuspected: Vec::new(),
            typed: Vec::new(),
        });
        step.typed.extend(typed);
        touch(&mut step.touched, change);
        touch(&mut step.unsuspected, change);
    }

    fn was_typed(&self, hash: u64) -> bool {
        self.typed.contains(&hash) || self.step.as_ref().is_some_and(|step| step.typed.contains(&hash))
    }

    /// Looks at lines: at each one's number, what can be seen of it, and its hash.
    fn look(&mut self, lines: Range<usize>, text: &dyn Text, mut each: impl FnMut(&mut Self, usize, u8, u64)) {
        let lines = lines.start..lines.end.min(self.lines.len());
        let mut at = lines.start;
        text.read(lines, &mut |words: &str| {
            let (flags, hash) = self.hasher.scan(words);
            each(self, at, flags, hash);
            at += 1;
        });
    }
}

/// Adds what a change has touched to places that were touched before, which move with it.
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
