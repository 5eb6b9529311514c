//! What the user is shown of a proposal: figures, and the first lines of a diff.

use std::sync::Arc;

use super::{Content, Proposal, Revision};
use crate::text::unified::Unified;

/// The most lines of a diff that are kept to be shown.
const MAX_LINES: usize = 500;

/// The most bytes of a line that are kept. No screen is that wide.
const MAX_LINE: usize = 4096;

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

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is.
    pub kind: DiffKind,
    /// The line, with its sign.
    pub text: String,
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
}

impl DiffLine {
    /// Something that is said about a file.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self { kind: DiffKind::Note, text: text.into() }
    }

    fn of(line: &str) -> Self {
        let kind = match line.as_bytes().first() {
            Some(b'@') => DiffKind::Hunk,
            Some(b'+') => DiffKind::Add,
            Some(b'-') => DiffKind::Delete,
            Some(b' ') => DiffKind::Context,
            _ => DiffKind::Note,
        };
        Self { kind, text: line[..line.floor_char_boundary(MAX_LINE)].to_owned() }
    }
}

impl Review {
    /// What is shown of a proposal. It takes as long as comparing the files.
    #[must_use]
    pub fn of(proposal: &Proposal) -> Self {
        let mut review = Self { revision: proposal.revision(), lines: Some((0, 0)), diff: Vec::new(), more: 0 };
        for file in &proposal.files {
            if proposal.files.len() > 1 || file.moved_to.is_some() {
                let moved = file.moved_to.as_ref().map_or_else(String::new, |(_, name)| format!(" → {name}"));
                review.put(DiffLine::note(format!("{}{moved}", file.name)));
            }
            let bytes = |content: &Option<Content>| match content {
                None => Some(Arc::default()),
                Some(content) => content.bytes.clone(),
            };
            let (Some(old), Some(new)) = (bytes(&file.old), bytes(&file.new)) else {
                review.lines = None;
                review.put(DiffLine::note("(too large to be shown)"));
                continue;
            };
            let unified = Unified::of(&old, &new, MAX_LINES);
            review.lines = review.lines.filter(|_| unified.is_compared);
            review.lines = review.lines.map(|(added, removed)| (added + unified.added, removed + unified.removed));
            let hunks = unified.lines.len() - usize::from(unified.more > 0);
            unified.lines[..hunks].iter().for_each(|line| review.put(DiffLine::of(line)));
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
    #[must_use]
    pub fn first_lines(&self, max: usize) -> Vec<DiffLine> {
        let mut lines: Vec<DiffLine> = self.diff.iter().take(max).cloned().collect();
        let more = self.diff.len() - lines.len() + self.more;
        if more > 0 && max > 0 {
            let lines_word = if more == 1 { "line" } else { "lines" };
            lines.push(DiffLine { kind: DiffKind::More, text: format!("… {more} more {lines_word}") });
        }
        lines
    }
}
