//! References to files in the user's messages, such as `@./pic.png`.
//!
//! A reference begins with `@./`, `@../`, `@~/` or `@//` (for an absolute path) at the beginning of a word, and extends
//! to the next white space. Punctuation at the end of a sentence, a quotation or a bracket does not belong to it. Other
//! characters are percent-encoded (`%20`), and `;type=text/plain` after the path gives the media type. `#L10-L20` at the end of
//! the path means only these lines ([`LineRange`]), unless there is a file of that name. Only the user's own prose has
//! references. Code, thinking, results and the model's text have none.

use std::{
    borrow::Cow,
    ops::Range,
    path::{Component, Path, PathBuf},
};

use percent_encoding::percent_decode_str;

use super::{BlockKind, Document, LineRange, ResultBody, Speaker, Text, at_sign::read_at_signs};
use flemma_model::Attachment;

/// The prefixes of a reference after its `@`.
pub const BEGINNINGS: [&str; 4] = ["./", "../", "~/", "//"];

/// The characters besides white space that may precede a reference.
pub(super) const BEFORE: &str = "([{<\"'*_|,;:>“‘„«";

/// Punctuation that ends a sentence or a quotation and does not belong to a path.
const PUNCTUATION: &str = ".,;:!?\"'*>…”’“»";

/// Brackets, which end a path unless the path opens them.
const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// The separator between a path and its media type.
const TYPE: &str = ";type=";

/// One reference in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// Its range in the line in bytes, including its `@` and its type.
    pub columns: Range<usize>,
    /// The path: relative, with `~`, or absolute. If it has lines, they are a part of it.
    pub path: String,
    /// Its media type, if it has one.
    pub media_type: Option<String>,
    /// Some lines of a file: its path, and the lines.
    pub lines: Option<(String, LineRange)>,
    /// What looks like lines at the end of the path, and is not written as they are.
    pub misspelt: Option<String>,
}

impl Reference {
    /// The file, not read yet; `None` for lines of a file, which are captured.
    pub fn attachment(&self) -> Option<Attachment> {
        let media_type = self.media_type.clone().unwrap_or_default();
        self.lines.is_none().then(|| Attachment::unread(&self.path, media_type))
    }
}

/// A file that the document names and that a request would send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The line.
    pub line: usize,
    /// The range of the reference in the line, in bytes; `None` for the fence of a result, and for the file that a reference to
    /// lines of another one means if it is there (`a.rs#L10`).
    pub columns: Option<Range<usize>>,
    /// The path, as the document writes it.
    pub path: PathBuf,
    /// Whether only lines of it are meant, or it is the file that those may mean.
    pub has_lines: bool,
}

/// The references in a line of prose, in order.
pub(super) fn references(line: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    read_at_signs(line, BEFORE, |text, start, before| {
        let Some((length, written, media_type)) = reference(text, before) else { return 0 };
        let lines = LineRange::split(written).map(|(path, lines)| (plain(path), lines));
        let misspelt = LineRange::misspelt(written).map(str::to_owned);
        found.push(Reference { columns: start - 1..start + length, path: plain(written), media_type, lines, misspelt });
        length
    });
    found
}

/// The path that is written here as in a reference, and its length; `None` if there is none.
pub(super) fn path_at(text: &str, before: Option<char>) -> Option<(usize, String)> {
    let (_, path, _) = reference(text, before)?;
    Some((path.len(), plain(path)))
}

/// The word that begins here, without the punctuation behind it.
pub(super) fn path_word(text: &str, before: Option<char>) -> &str {
    trim(&text[..text.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(text.len())], before)
}

/// The reference that begins here: its length, its path as it is written, and its media type. `None` if there is none.
fn reference(text: &str, before: Option<char>) -> Option<(usize, &str, Option<String>)> {
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
    Some((length, path, given.map(str::to_ascii_lowercase)))
}

/// The path that is written like this in a reference.
pub(super) fn plain(written: &str) -> String {
    // An encoded control character is not decoded, because it could break a line.
    let decoded = percent_decode_str(written).decode_utf8().ok().filter(|path| !path.contains(char::is_control));
    let plain = decoded.unwrap_or(Cow::Borrowed(written));
    if written.starts_with("//") { plain[1..].to_owned() } else { plain.into_owned() }
}

/// The media type at the beginning of a text (RFC 6838, 4.2), without punctuation after it.
fn media_type(text: &str) -> Option<&str> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "/!#$&-^_.+".contains(c);
    let given = &text[..text.find(|c| !is_legal(c)).unwrap_or(text.len())];
    let given = given.trim_end_matches(['.', '!', '_']);
    let (kind, name) = given.split_once('/')?;
    (!kind.is_empty() && !name.is_empty() && !name.contains('/')).then_some(given)
}

/// The word without punctuation at its end.
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

/// Appends text with the characters encoded that `is_special` names.
fn encode(text: &str, is_special: impl Fn(char) -> bool, written: &mut String) {
    let mut bytes = [0; 4];
    for c in text.chars() {
        if is_special(c) {
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| written.push_str(&format!("%{byte:02X}")));
        } else {
            written.push(c);
        }
    }
}

/// Whether a character in the middle of a path would end a reference or change its meaning.
fn breaks(c: char) -> bool {
    let is_bracket = BRACKETS.iter().any(|(open, close)| c == *open || c == *close);
    c.is_whitespace() || c.is_control() || "%`;".contains(c) || is_bracket
}

/// The name of a file or folder as a reference contains it, for somebody who reads on: only what would not be read back is
/// encoded. `None` for a name that a reference cannot contain.
pub fn reference_name(name: &str) -> Option<String> {
    if name.is_empty() || name.contains(char::is_control) {
        return None;
    }
    let middle = name.trim_end_matches(|c| c == '_' || PUNCTUATION.contains(c));
    let mut written = String::new();
    let has_lines = LineRange::split(name).is_some();
    encode(middle, |c| breaks(c) || (has_lines && c == '#'), &mut written);
    encode(&name[middle.len()..], |_| true, &mut written);
    Some(written)
}

/// The reference to lines of a file, as a user would write it in a conversation whose paths start at `folder`. `path` is absolute,
/// and so is `home`, the user's home folder. `None` for a name that a reference cannot contain.
pub fn reference_to(path: &Path, folder: &Path, home: Option<&Path>, lines: LineRange) -> Option<String> {
    let below = |folder: &Path| path.strip_prefix(folder).ok().filter(|rest| !rest.as_os_str().is_empty());
    let (beginning, rest) = match (below(folder), home.and_then(below)) {
        (Some(rest), _) => ("./", rest),
        (None, Some(rest)) => ("~/", rest),
        (None, None) => ("//", below(Path::new("/"))?),
    };
    let names = rest.components().map(|part| match part {
        Component::Normal(name) => reference_name(name.to_str()?),
        _ => None,
    });
    Some(format!("@{beginning}{}{lines}", names.collect::<Option<Vec<_>>>()?.join("/")))
}

/// The part of a path that a part of a reference means.
pub fn decoded_name(written: &str) -> String {
    percent_decode_str(written).decode_utf8_lossy().into_owned()
}

/// The reference to this file, as a user would write it.
pub(super) fn write(attachment: &Attachment) -> String {
    let path = attachment.path.to_string_lossy();
    let beginning = match &*path {
        path if path.starts_with('/') => "/",
        path if ["./", "../", "~/"].iter().any(|beginning| path.starts_with(beginning)) => "",
        _ => "./",
    };
    let mut written = format!("@{beginning}");
    let has_lines = LineRange::split(&path).is_some();
    // A dot in the middle of a name is not encoded.
    let is_special = |c| breaks(c) || c == '_' || (has_lines && c == '#') || (c != '.' && PUNCTUATION.contains(c));
    encode(&path, is_special, &mut written);
    if let Some(start) = written.strip_suffix('.') {
        written = format!("{start}%2E");
    }
    if !attachment.media_type.is_empty() {
        written.push_str(TYPE);
        written.push_str(&attachment.media_type);
    }
    written
}

/// The files named in the lines in `range`: references in the user's own prose, and the fences of results with
/// attachments. Only the user's lines are read.
pub fn files(document: &Document, range: Range<usize>, text: &dyn Text) -> Vec<NamedFile> {
    let mut found = Vec::new();
    for (message, block) in document.blocks_in(range.clone()).filter(|(message, _)| message.role == Speaker::You) {
        if block.kind == BlockKind::Text {
            let lines = message.lines_of(block);
            let lines = lines.start.max(range.start)..lines.end.min(range.end);
            message.read_prose(lines, text, &mut |line, skipped, prose| {
                for Reference { columns, path, lines, .. } in references(prose) {
                    let columns = Some(columns.start + skipped..columns.end + skipped);
                    let has_lines = lines.is_some();
                    let literal = NamedFile { line, columns: None, path: (&path).into(), has_lines };
                    let named = lines.map_or(path, |(of, _)| of);
                    found.push(NamedFile { line, columns, path: named.into(), has_lines });
                    found.extend(has_lines.then_some(literal));
                }
            });
        } else if let Some(ResultBody::Attached(_, attachments)) = block.tool_result().map(|result| &result.body)
            && let Some(line) = message.fence_of(block).filter(|line| range.contains(line))
        {
            let paths = attachments.iter().map(|attachment| attachment.path.clone());
            found.extend(paths.map(|path| NamedFile { line, columns: None, path, has_lines: false }));
        }
    }
    found
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
