//! References to what the editor shows, such as `@diagnostics` or `@buffer:./src/a.rs`.
//!
//! The name is a whole word, as the name of a tool is ([`super::mention`]). Behind it may stand `:` and a path, which is written
//! as in a reference to a file. A tool of the same name is named with braces: `@{diff}`.

use std::{ops::Range, path::PathBuf};

use super::{Document, Text, at_sign::read_at_signs, mention, reference, words::words};

words! {
    /// What a reference to the editor is about, by the name behind its `@`.
    pub enum EditorSubject {
        /// The text of a buffer.
        Buffer = "buffer",
        /// The diagnostics of a buffer.
        Diagnostics = "diagnostics",
        /// What `git diff` says of the working tree.
        Diff = "diff",
        /// The quickfix list.
        Quickfix = "quickfix",
        /// The function, or whatever else has a name, around the cursor.
        Symbol = "symbol",
    }
}

impl EditorSubject {
    /// The subject of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
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
