//! What the user is shown of a proposal: figures, and the first lines of a diff.

use std::borrow::Cow;

use super::{Content, DiffLine, Proposal, Revision};
use flemma_text::{line_breaks, unified::Unified};

/// The most lines of a diff that are kept to be shown.
const MAX_LINES: usize = 500;

/// What is said of a file that nobody may write, as far as its permissions say.
const READ_ONLY: &str = "this file is read-only";

/// What is said of a file of which writing asks every time, as the user may have a rule that would approve it.
const START_UP: &str = "a program reads this file when it starts, or runs it by itself: writing it asks every time";

/// What the user is shown of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The revision that is shown.
    pub revision: Revision,
    /// How many lines are added and removed; `None` where a file is not compared line by line.
    pub lines: Option<(usize, usize)>,
    /// The first lines of the diff.
    pub diff: Vec<DiffLine>,
    /// How many more there are.
    pub more: usize,
}

impl Review {
    /// What is shown of a proposal. It takes as long as comparing the files.
    pub fn of(proposal: &Proposal) -> Self {
        let mut review = Self { revision: proposal.revision(), lines: Some((0, 0)), diff: Vec::new(), more: 0 };
        for file in &proposal.files {
            if proposal.files.len() > 1 || file.moved_to.is_some() {
                let moved = file.moved_to.as_ref().map_or_else(String::new, |(_, name)| format!(" → {name}"));
                review.put(DiffLine::note(format!("{}{moved}", file.name)));
            }
            let concern = file.concern().map(|concern| concern.words);
            let start_up = file.is_start_up.then(|| START_UP.to_owned());
            let read_only = file.is_read_only.then(|| READ_ONLY.to_owned());
            [concern, start_up, read_only].into_iter().flatten().for_each(|note| review.put(DiffLine::note(note)));
            let (Some(old), Some(new)) = (Content::bytes_of(&file.old), Content::bytes_of(&file.new)) else {
                review.lines = None;
                review.put(DiffLine::note("(too large to be shown)"));
                continue;
            };
            let mut unified = Unified::of(&old, &new, MAX_LINES);
            review.lines = review.lines.filter(|_| !unified.is_opaque);
            review.lines = review.lines.map(|(added, removed)| (added + unified.added, removed + unified.removed));
            if !unified.is_opaque {
                let (old, new, change) = line_breaks::compared(&old, &new);
                if matches!(old, Cow::Owned(_)) {
                    unified = Unified::of(&old, &new, MAX_LINES);
                }
                if let Some(change) = change {
                    review.put(DiffLine::note(change));
                }
            }
            let hunks = unified.lines.len() - usize::from(unified.more > 0);
            DiffLine::of_hunks(&unified.lines[..hunks]).into_iter().for_each(|line| review.put(line));
            review.more += unified.more;
        }
        review
    }

    fn put(&mut self, line: DiffLine) {
        if self.diff.len() < MAX_LINES {
            self.diff.push(line);
        } else {
            self.more += 1;
        }
    }

    /// At most `max` lines; the last one says how many more there are.
    pub fn first_lines(&self, max: usize) -> Vec<DiffLine> {
        let mut lines: Vec<DiffLine> = self.diff.iter().take(max).cloned().collect();
        let more = self.diff.len() - lines.len() + self.more;
        if more > 0 && max > 0 {
            lines.push(DiffLine::more(more));
        }
        lines
    }
}
