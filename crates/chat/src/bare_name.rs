//! Words in the user's message that look like the names of tools and may be paths of files: `@README.md`, `@src/main.rs#L10`.
//!
//! They are text, and a reference would begin with `@./`. Whether there is such a file, and whether a tool has that name, is not
//! known here.

use std::{ops::Range, path::PathBuf};

use super::{BEGINNINGS, Document, LineRange, Text, at_sign::read_at_signs, editor_reference, mention, reference};

/// A word that may be the path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareName {
    /// The line.
    pub line: usize,
    /// The path: relative or absolute. Lines at its end do not belong to it.
    pub path: PathBuf,
    /// The reference that would mean this file, with its `@`.
    pub reference: String,
}

/// Such words in the user's own prose in the lines in `range`, in the messages after the last reply.
pub fn bare_names(document: &Document, range: &Range<usize>, text: &dyn Text) -> Vec<BareName> {
    let start = document.after_last_reply().first().map_or(document.line_count(), |message| message.start);
    let mut found = Vec::new();
    document.read_users_prose(&(range.start.max(start)..range.end), text, &mut |line, _, prose| {
        read_at_signs(prose, mention::BEFORE, |text, _, before| {
            let is_other = text.starts_with('{') || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
            if is_other || editor_reference::read(text, before).is_some() {
                return 0;
            }
            let written = reference::path_word(text, before);
            let path = LineRange::split(written).map_or(written, |(path, _)| path);
            let name = path.trim_end_matches('/');
            if !name.is_empty() && name == path {
                let beginning = if path.starts_with('/') { "@/" } else { "@./" };
                let reference = format!("{beginning}{written}");
                found.push(BareName { line, path: reference::plain(path).into(), reference });
            }
            written.len()
        });
    });
    found
}
