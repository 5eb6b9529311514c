//! What can be completed at the cursor: code of the frontmatter, a role marker, or a word that begins with `@`.
//!
//! Only the structure around the cursor's line is looked at, and the lines of the frontmatter. In code, thinking, calls and
//! results nothing is completed.

use super::{BlockKind, Document, Speaker, Text, at_sign::read_at_signs, mention, reference};

/// The longest frontmatter before the cursor that is read, in bytes.
const MAX_CODE: usize = 1 << 17;

/// What can be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completable {
    /// Code of the frontmatter.
    Code {
        /// The language, as the fence names it.
        language: String,
        /// The code before the cursor.
        before: String,
        /// The rest of the cursor's line.
        after: String,
    },
    /// A word that begins with `@`, or may begin with it.
    Word(AtWord),
}

/// A word that begins with `@`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtWord {
    /// Where its text begins in the line, in bytes: behind the `@`, if it is there.
    pub start: usize,
    /// Whether the `@` is there.
    pub has_sign: bool,
    /// The text between `start` and the cursor.
    pub typed: String,
    /// The rest of the word behind the cursor.
    pub rest: String,
    /// Whether it may become a role marker.
    pub may_be_role: bool,
    /// Whether it may become a reference to a file.
    pub may_be_file: bool,
    /// Whether it may become the name of a tool.
    pub may_be_tool: bool,
}

impl Completable {
    /// What can be completed at byte `column` of a line. `None` where nothing can, and in lines that are not parsed yet.
    pub fn at(document: &Document, line: usize, column: usize, text: &dyn Text) -> Option<Self> {
        if line >= document.line_count() {
            return None;
        }
        let content = text.line(line);
        let column = content.floor_char_boundary(column);
        if let Some(matter) = document.frontmatter().filter(|matter| line < matter.lines) {
            let is_fence = line == 0 || matter.closed && line + 1 == matter.lines;
            let before = (!is_fence).then(|| code(line, &content[..column], text)).flatten()?;
            return Some(Self::Code { language: matter.language.clone(), before, after: content[column..].to_owned() });
        }
        let message = document.message_at(line).map(|index| &document.messages()[index]);
        let block = document.block_at(line).zip(message).map(|((_, block), message)| &message.blocks[block]);
        if block.is_some_and(|block| block.kind != BlockKind::Text) {
            return None;
        }
        let skipped = message.map_or(0, |message| message.text_at(line, &content));
        let role = role(&content, column, skipped);
        let is_users = message.is_some_and(|message| message.role == Speaker::You) && column >= skipped;
        let word = is_users.then(|| word(&content, column, skipped)).flatten();
        match (role, word) {
            (Some(role), word) => Some(Self::Word(AtWord { may_be_role: true, ..word.unwrap_or(role) })),
            (None, word) => word.map(Self::Word),
        }
    }
}

/// The frontmatter's code from its first line to the cursor, whose own line begins with `last`.
fn code(line: usize, last: &str, text: &dyn Text) -> Option<String> {
    let mut code = String::new();
    text.read(1..line, &mut |content| {
        if code.len() <= MAX_CODE {
            code.push_str(content);
            code.push('\n');
        }
    });
    code.push_str(last);
    (code.len() <= MAX_CODE).then_some(code)
}

/// The beginning of a line, if it may become a role marker: it is empty, or has an `@` and letters before the cursor. The marker
/// that a line has takes `marker` bytes.
fn role(line: &str, column: usize, marker: usize) -> Option<AtWord> {
    if line.is_empty() {
        return Some(AtWord::default());
    }
    let typed = line[..column].strip_prefix('@')?;
    let is_role = typed.bytes().all(|byte| byte.is_ascii_alphabetic()) && (marker == 0 || column < marker);
    let rest = &line[column..];
    let rest = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic() && c != ':').unwrap_or(rest.len())];
    is_role.then(|| AtWord { start: 1, has_sign: true, typed: typed.into(), rest: rest.into(), ..AtWord::default() })
}

/// The word of the user's prose that the cursor is in, if it begins with an `@` that means something. The text begins at byte
/// `skipped` of the line.
fn word(line: &str, column: usize, skipped: usize) -> Option<AtWord> {
    let mut found = None;
    read_at_signs(&line[skipped..], reference::BEFORE, |text, start, before| {
        let start = skipped + start;
        let length = text.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(text.len());
        if (start..=start + length).contains(&column) {
            found = Some(AtWord {
                start,
                has_sign: true,
                typed: line[start..column].to_owned(),
                rest: line[column..start + length].to_owned(),
                may_be_role: false,
                may_be_file: true,
                may_be_tool: before.is_none_or(|c| c.is_whitespace() || mention::BEFORE.contains(c)),
            });
        }
        // An `@` in a path begins nothing.
        if reference::BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) { length } else { 0 }
    });
    found
}
