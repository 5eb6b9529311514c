//! A notation in which a test reads like the screen.
//!
//! A screen is a string literal, one line a line, indented as the test is. A bar `|` in column 0
//! (after the indent) protects blanks; the screen's first line may be empty for layout.

use std::ops::Range;

use flemma_chat::{Author, Change, Document, Provenance, TextEdit};

/// The lines of a screen.
pub fn screen(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.strip_prefix('\n').unwrap_or(text).split('\n').collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let mut lines: Vec<String> = lines
        .into_iter()
        .map(|line| {
            let line = line.get(common..).unwrap_or("");
            line.strip_prefix('|').unwrap_or(line).to_owned()
        })
        .collect();
    // The line with the closing quotes.
    if lines.last().is_some_and(String::is_empty) && lines.len() > 1 {
        lines.pop();
    }
    lines
}

/// A document as it is worked on: text, structure and authors side by side.
pub struct Page {
    pub text: Vec<String>,
    pub document: Document,
    pub provenance: Provenance,
    /// The user's step of undo.
    pub step: u64,
}

impl Page {
    pub fn new(text: &str) -> Self {
        Self::of(screen(text))
    }

    pub fn of(text: Vec<String>) -> Self {
        let mut page =
            Self { text: Vec::new(), document: Document::default(), provenance: Provenance::default(), step: 0 };
        page.change(Author::Stranger, 0..0, text);
        page
    }

    /// Applies edits in order, each followed by an update, and checks the structure.
    #[track_caller]
    pub fn apply(&mut self, edits: Vec<TextEdit>) {
        for edit in edits {
            let change = edit.change();
            edit.apply(&mut self.text);
            self.provenance.follow(&mut self.document, change, Author::Flemma, &self.text);
        }
        self.check();
    }

    /// Replaces lines, as the user does in one step of undo.
    pub fn replace(&mut self, lines: Range<usize>, with: Vec<String>) {
        self.step += 1;
        self.change(Author::User { step: self.step }, lines, with);
        self.provenance.settle();
    }

    /// Replaces lines by undo or redo.
    pub fn undo(&mut self, lines: Range<usize>, with: Vec<String>) {
        self.change(Author::User { step: self.step }, lines, with);
        self.provenance.undone(&self.text);
    }

    /// Replaces lines.
    pub fn change(&mut self, hand: Author, lines: Range<usize>, with: Vec<String>) {
        let change = Change { first: lines.start, old_last: lines.end, new_last: lines.start + with.len() };
        self.text.splice(lines, with);
        self.provenance.follow(&mut self.document, change, hand, &self.text);
    }

    #[track_caller]
    pub fn check(&self) {
        assert_eq!(self.document, Document::parse(&self.text), "on\n{}", self.text.join("\n"));
    }

    #[track_caller]
    pub fn shows(&self, expected: &str) {
        let expected = screen(expected);
        assert!(self.text == expected, "shows\n{}\ninstead of\n{}", self.text.join("\n"), expected.join("\n"));
    }
}
