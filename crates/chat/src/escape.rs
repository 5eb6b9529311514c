//! Escaping, so that text from a model or a tool can never act as structure.
//!
//! A line that starts like structure gets a backslash in column 0. A line that already has backslashes there gets one
//! more, and reading removes exactly one, so `unescape(escape(x))` is `x` for every line. The same openers apply in
//! prose, in code within prose and in thinking, and they cover more than the parser acts on: an unnecessary escape
//! costs one character, but a missing one would let a model write as the user. The content of tool fences is not
//! escaped: the fences are longer than any run of backticks inside.
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

/// The openers that are plain text. Fences are handled by [`fence`].
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

/// The classification of a line by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePrefix {
    /// It starts like structure, or like escaped structure.
    Structure,
    /// It does not start like structure, whatever follows.
    Plain,
    /// More characters are needed to decide.
    Undecided,
}

/// The line with an additional backslash, if it needs one.
pub fn escape(line: &str) -> Cow<'_, str> {
    match classify(line) {
        LinePrefix::Structure => Cow::Owned(format!("\\{line}")),
        LinePrefix::Plain | LinePrefix::Undecided => Cow::Borrowed(line),
    }
}

/// The line without the backslash that [`escape`] added.
pub fn unescape(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if classify(line) == LinePrefix::Structure => rest,
        _ => line,
    }
}

/// The same for each line of a text.
pub(super) fn unescape_lines(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(unescape).collect();
    lines.join("\n")
}

/// Classifies a line by its beginning. For a complete line, [`LinePrefix::Undecided`] means plain.
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

/// Classifies a line as a fence with a reserved info string.
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
