//! References to what the editor shows, such as `@diagnostics` or `@buffer:./src/a.rs`.
//!
//! The name is a whole word, as the name of a tool is ([`super::mention`]). Behind it may stand `:` and a path, which is written
//! as in a reference to a file. A tool of the same name is named with braces: `@{diff}`.

use std::{fmt, ops::Range, path::PathBuf};

use super::{Document, Text, at_sign::read_at_signs, mention, reference};

/// What a reference to the editor is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EditorSubject {
    /// The text of a buffer.
    Buffer,
    /// The diagnostics of a buffer.
    Diagnostics,
    /// What `git diff` says of the working tree.
    Diff,
    /// The quickfix list.
    Quickfix,
    /// The function, or whatever else has a name, around the cursor.
    Symbol,
}

impl EditorSubject {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Buffer, Self::Diagnostics, Self::Diff, Self::Quickfix, Self::Symbol];

    /// The name behind the `@`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Diagnostics => "diagnostics",
            Self::Diff => "diff",
            Self::Quickfix => "quickfix",
            Self::Symbol => "symbol",
        }
    }

    /// The subject of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
    }
}

impl fmt::Display for EditorSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A reference to what the editor shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EditorReference {
    /// What it is about.
    pub subject: EditorSubject,
    /// The file that it is limited to: relative, with `~`, or absolute. `None` for the one that the user came from.
    pub path: Option<PathBuf>,
}

/// The references to the editor in the user's own prose in the lines in `range`: the line of each, and its range in the line in
/// bytes.
pub fn editor_references(document: &Document, range: &Range<usize>, text: &dyn Text) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    document.read_users_prose(range, text, &mut |line, skipped, prose| {
        let references = references_in(prose).into_iter();
        found.extend(references.map(|(columns, _)| (line, columns.start + skipped..columns.end + skipped)));
    });
    found
}

/// The references to the editor in a line of prose, in order, each with its range in bytes.
pub(super) fn references_in(line: &str) -> Vec<(Range<usize>, EditorReference)> {
    let mut found = Vec::new();
    read_at_signs(line, mention::BEFORE, |text, start, before| {
        let Some((length, reference)) = read(text, before) else { return 0 };
        found.push((start - 1..start + length, reference));
        length
    });
    found
}

/// The reference that begins here, and its length.
pub(super) fn read(text: &str, before: Option<char>) -> Option<(usize, EditorReference)> {
    let name = &text[..text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len())];
    let subject = EditorSubject::from_name(name)?;
    if mention::ends_word(&text[name.len()..]) {
        return Some((name.len(), EditorReference { subject, path: None }));
    }
    let path = text[name.len()..].strip_prefix(':')?;
    let (length, path) = reference::path_at(path, before)?;
    Some((name.len() + 1 + length, EditorReference { subject, path: Some(path.into()) }))
}
