//! Escaping: text that somebody else wrote can never act as structure.
//!
//! A line that starts like structure gets one backslash in column 0, a line that already has
//! backslashes there gets one more, and reading takes exactly one off, so `unescape(escape(x))` is
//! `x` for every line. One set of openers serves prose, code in prose and thinking alike, and it is
//! wider than what the parser acts on: a line that is escaped without need costs one character, the
//! other way round a model could speak as the user. Tool fences are not escaped: they are longer
//! than any run of backticks inside.
//!
//! | a line that starts with                                | would be             |
//! |--------------------------------------------------------|----------------------|
//! | `@System:`, `@You:`, `@Assistant:`                     | a message            |
//! | `**Tool Use:**`, `**Tool Result:**`                    | a tool header        |
//! | `<thinking`, `</thinking>`                             | a thinking tag       |
//! | `<!-- flemma:`                                         | an abort marker      |
//! | a fence whose info string starts with `flemma:`        | a status block       |

use std::borrow::Cow;

use super::status::RESERVED;

/// The literal openers. The fence is the other one: see [`fence`].
const OPENERS: [&str; 8] = [
    "@System:",
    "@You:",
    "@Assistant:",
    "**Tool Use:**",
    "**Tool Result:**",
    "<thinking",
    "</thinking>",
    "<!-- flemma:",
];

/// What the beginning of a line says about the whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePrefix {
    /// It starts like structure, or like escaped structure.
    Structure,
    /// It does not, whatever follows.
    Plain,
    /// A few more characters are needed.
    Undecided,
}

/// The line with one backslash more if it needs one.
#[must_use]
pub fn escape(line: &str) -> Cow<'_, str> {
    match classify(line) {
        LinePrefix::Structure => Cow::Owned(format!("\\{line}")),
        LinePrefix::Plain | LinePrefix::Undecided => Cow::Borrowed(line),
    }
}

/// The line with the one backslash less that [`escape`] added.
#[must_use]
pub fn unescape(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if classify(line) == LinePrefix::Structure => rest,
        _ => line,
    }
}

/// Judges a line by its beginning. For a whole line [`LinePrefix::Undecided`] means plain.
pub(super) fn classify(line: &str) -> LinePrefix {
    let rest = line.trim_start_matches('\\');
    if rest.is_empty() {
        return LinePrefix::Undecided;
    }
    let mut classify = fence(rest);
    for opener in OPENERS {
        if rest.starts_with(opener) {
            return LinePrefix::Structure;
        }
        if opener.starts_with(rest) {
            classify = LinePrefix::Undecided;
        }
    }
    classify
}

/// Judges whether a line opens a fence that is reserved for Flemma.
fn fence(line: &str) -> LinePrefix {
    let bytes = line.as_bytes();
    let indent = bytes.iter().take(4).take_while(|byte| **byte == b' ').count();
    let Some(mark) = bytes.get(indent).copied() else {
        return if indent > 3 { LinePrefix::Plain } else { LinePrefix::Undecided };
    };
    if indent > 3 || !matches!(mark, b'`' | b'~') {
        return LinePrefix::Plain;
    }
    let length = bytes[indent..].iter().take_while(|byte| **byte == mark).count();
    let info = line[indent + length..].trim_start();
    if indent + length == bytes.len() {
        LinePrefix::Undecided
    } else if length < 3 {
        LinePrefix::Plain
    } else if info.starts_with(RESERVED) {
        LinePrefix::Structure
    } else if RESERVED.starts_with(info) {
        LinePrefix::Undecided
    } else {
        LinePrefix::Plain
    }
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
