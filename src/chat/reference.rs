//! References: how a user names a file of theirs in a message, `@./pic.png`.
//!
//! A reference begins with `@./`, `@../`, `@~/` or `@//` (the last for an absolute path) at the beginning of a word, and
//! goes on to the next white space. Punctuation that ends a sentence, a quotation or a bracket is no part of it.
//! `%20` and the like stand for characters that could not stand there, and `;type=text/plain` behind the path says what
//! the file is. Only prose of the user's own has references: none are looked for in code, in thinking, in results, or
//! in what a model says.

use std::{borrow::Cow, ops::Range, path::PathBuf};

use percent_encoding::percent_decode_str;

use super::{BlockKind, Document, ParsedMessage, ResultBody, Speaker, Text, syntax};
use crate::{
    model::Attachment,
    text::{Fence, code_span::read_code_span},
};

/// What a reference begins with behind its `@`.
const BEGINNINGS: [&str; 4] = ["./", "../", "~/", "//"];

/// What may stand right before a reference, beside white space.
const BEFORE: &str = "([{<\"'*_|,;:>“‘„«";

/// What ends a sentence or a quotation, and no path.
const PUNCTUATION: &str = ".,;:!?\"'*>…”’“»";

/// Brackets that end a path only if the path does not open them.
const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// What comes between a path and its type.
const TYPE: &str = ";type=";

/// One reference in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// Where it stands, in bytes of the line, with its `@` and its type.
    pub columns: Range<usize>,
    /// The path: relative, with `~`, or absolute.
    pub path: String,
    /// The media type that it gives.
    pub media_type: Option<String>,
}

impl Reference {
    /// The file, unread.
    pub fn attachment(&self) -> Attachment {
        Attachment::unread(&self.path, self.media_type.clone().unwrap_or_default())
    }
}

/// A file that the document names: what would be read and sent for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The line.
    pub line: usize,
    /// Where the reference stands in the line, in bytes; `None` for the fence of a result, which names its files itself.
    pub columns: Option<Range<usize>>,
    /// The file, as the document names it.
    pub path: PathBuf,
}

/// The references in a line of prose, in order. Code spans end with the line.
pub(super) fn references(line: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = line[at..].find(['@', '`']) {
        let start = at + next;
        let rest = &line[start..];
        if rest.starts_with('`') {
            let marks = rest.len() - rest.trim_start_matches('`').len();
            at = read_code_span(rest).map_or(start + marks, |(_, behind)| line.len() - behind.len());
            continue;
        }
        let before = line[..start].chars().next_back();
        let begins = before.is_none_or(|before| before.is_whitespace() || BEFORE.contains(before));
        match begins.then(|| reference(&rest[1..], before)).flatten() {
            Some((length, path, media_type)) => {
                at = start + 1 + length;
                found.push(Reference { columns: start..at, path, media_type });
            }
            None => at = start + 1,
        }
    }
    found
}

/// The references in prose of several lines, code left out.
pub(super) fn references_in(text: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut code: Option<Fence> = None;
    for line in text.lines() {
        match code {
            Some(fence) if fence.closes(line) => code = None,
            Some(_) => {}
            None => match Fence::open(line) {
                Some((fence, _)) => code = Some(fence),
                None => found.extend(references(line)),
            },
        }
    }
    found
}

/// What a reference that begins here says, and how long it is; `None` if it is none.
fn reference(text: &str, before: Option<char>) -> Option<(usize, String, Option<String>)> {
    let beginning = BEGINNINGS.into_iter().find(|beginning| text.starts_with(beginning))?;
    let word = &text[..text.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(text.len())];
    let (path, given) = match word.rsplit_once(TYPE).and_then(|(path, given)| Some((path, media_type(given)?))) {
        Some((path, given)) => (path, Some(given)),
        None => (trim(word, before), None),
    };
    if path.len() <= beginning.len() || !path.is_char_boundary(beginning.len()) {
        return None;
    }
    let length = path.len() + given.map_or(0, |given| TYPE.len() + given.len());
    // What would break a line of ours is taken by the letter.
    let decoded = percent_decode_str(path).decode_utf8().ok().filter(|path| !path.contains(char::is_control));
    let plain = decoded.unwrap_or(Cow::Borrowed(path));
    let plain = if beginning == "//" { &plain[1..] } else { &*plain };
    Some((length, plain.to_owned(), given.map(str::to_ascii_lowercase)))
}

/// The media type that a text begins with (RFC 6838, 4.2), without the punctuation behind it.
fn media_type(text: &str) -> Option<&str> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "/!#$&-^_.+".contains(c);
    let given = &text[..text.find(|c| !is_legal(c)).unwrap_or(text.len())];
    let given = given.trim_end_matches(['.', '!', '_']);
    let (kind, name) = given.split_once('/')?;
    (!kind.is_empty() && !name.is_empty() && !name.contains('/')).then_some(given)
}

/// The word without the punctuation behind it.
fn trim(word: &str, before: Option<char>) -> &str {
    let mut path = word;
    while let Some(last) = path.chars().next_back() {
        let count = |mark| path.matches(mark).count();
        let closes = BRACKETS.iter().any(|(open, close)| last == *close && count(*open) < count(*close));
        let emphasis = last == '_' && before == Some('_');
        if !closes && !emphasis && !PUNCTUATION.contains(last) {
            break;
        }
        path = &path[..path.len() - last.len_utf8()];
    }
    path
}

/// How a user names this file.
pub(super) fn write(attachment: &Attachment) -> String {
    let path = attachment.path.to_string_lossy();
    let beginning = match &*path {
        path if path.starts_with('/') => "/",
        path if ["./", "../", "~/"].iter().any(|beginning| path.starts_with(beginning)) => "",
        _ => "./",
    };
    let mut written = format!("@{beginning}");
    let mut bytes = [0; 4];
    for c in path.chars() {
        let is_bracket = BRACKETS.iter().any(|(open, close)| c == *open || c == *close);
        // A point in the middle of a name is only a point.
        let marks = c != '.' && PUNCTUATION.contains(c);
        if c.is_whitespace() || c.is_control() || "%`_".contains(c) || is_bracket || marks {
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| written.push_str(&format!("%{byte:02X}")));
        } else {
            written.push(c);
        }
    }
    if let Some(start) = written.strip_suffix('.') {
        written = format!("{start}%2E");
    }
    if !attachment.media_type.is_empty() {
        written.push_str(TYPE);
        written.push_str(&attachment.media_type);
    }
    written
}

impl Document {
    /// The files that the lines in `range` name: references in the user's own prose, and the fences of results that show
    /// files. Reads those lines, where they are the user's.
    #[must_use]
    pub fn files(&self, range: Range<usize>, text: &dyn Text) -> Vec<NamedFile> {
        let mut found = Vec::new();
        let first = self.messages.partition_point(|message| message.range().end <= range.start);
        for message in self.messages.get(first..).unwrap_or_default() {
            if message.start >= range.end {
                break;
            }
            if message.role == Speaker::You {
                message.files(&range, text, &mut found);
            }
        }
        found
    }
}

impl ParsedMessage {
    fn files(&self, range: &Range<usize>, text: &dyn Text, found: &mut Vec<NamedFile>) {
        let from = range.start.saturating_sub(self.start);
        let first = self.blocks.partition_point(|block| block.end() <= from);
        for block in &self.blocks[first..] {
            let lines = self.lines_of(block);
            if lines.start >= range.end {
                break;
            }
            match &block.kind {
                BlockKind::Text => {
                    let mut line = lines.start.max(range.start);
                    text.read(line..lines.end.min(range.end), &mut |content| {
                        let skipped = match syntax::marker(content) {
                            Some((_, column)) if line == self.start => column,
                            _ => 0,
                        };
                        for Reference { columns, path, .. } in references(&content[skipped..]) {
                            let columns = Some(columns.start + skipped..columns.end + skipped);
                            found.push(NamedFile { line, columns, path: path.into() });
                        }
                        line += 1;
                    });
                }
                BlockKind::ToolResult(tool) => {
                    if let ResultBody::Attached(fence, attachments) = &tool.body {
                        let line = lines.start + fence.line as usize;
                        let named =
                            |attachment: &Attachment| NamedFile { line, columns: None, path: attachment.path.clone() };
                        found.extend(attachments.iter().map(named).filter(|_| range.contains(&line)));
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
