//! Fences: the lines of backticks or tildes around code, tool input and tool output.
//!
//! The rules are those of CommonMark (<https://spec.commonmark.org/0.31.2/#fenced-code-blocks>): at
//! most three spaces of indent, at least three marks, and a closing line of at least as many. The
//! fences that we write are always backticks, one longer than any run of backticks inside.

use unicode_width::UnicodeWidthStr;

/// What opens a fence, and so what closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    mark: u8,
    length: u32,
}

impl Fence {
    /// The fence that `line` opens, with its info string (trimmed); `None` if it opens none.
    #[must_use]
    pub fn open(line: &str) -> Option<(Self, &str)> {
        let (fence, rest) = Self::run(line)?;
        let info = rest.trim();
        // ```like this``` is code within a line.
        (fence.mark == b'~' || !info.contains('`')).then_some((fence, info))
    }

    /// Whether `line` closes this fence.
    #[must_use]
    pub fn closes(self, line: &str) -> bool {
        Self::run(line).is_some_and(|(other, rest)| {
            other.mark == self.mark && other.length >= self.length && rest.trim().is_empty()
        })
    }

    /// The shortest fence of backticks that `content` cannot close.
    #[must_use]
    pub fn around(content: &str) -> Self {
        let mut longest = 0;
        let mut run = 0;
        for byte in content.bytes() {
            run = if byte == b'`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        Self { mark: b'`', length: (longest + 1).max(3) }
    }

    /// The marks alone: what closes the fence, and what opens it when an info string is appended.
    #[must_use]
    pub fn marks(self) -> String {
        char::from(self.mark).to_string().repeat(self.length as usize)
    }

    /// The indent and the marks at the start of a line, and what follows them.
    fn run(line: &str) -> Option<(Self, &str)> {
        let bytes = line.as_bytes();
        let indent = bytes.iter().take(4).take_while(|byte| **byte == b' ').count();
        let mark = *bytes.get(indent)?;
        if indent > 3 || !matches!(mark, b'`' | b'~') {
            return None;
        }
        let length = bytes[indent..].iter().take_while(|byte| **byte == mark).count();
        let fence = Self { mark, length: u32::try_from(length).unwrap_or(u32::MAX) };
        (length >= 3).then(|| (fence, &line[indent + length..]))
    }
}

/// `text` as a code span that nothing inside can end
/// (<https://spec.commonmark.org/0.31.2/#code-spans>).
///
/// Names and ids come from a model: control characters, which could break the line, become U+FFFD,
/// and nothing at all becomes a dash.
pub(super) fn code_span(text: &str) -> String {
    let text = plain(text);
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let marks = "`".repeat(longest + 1);
    let spaced = text.starts_with(' ') && text.ends_with(' ') && !text.trim().is_empty();
    let pad = if text.starts_with('`') || text.ends_with('`') || spaced { " " } else { "" };
    format!("{marks}{pad}{text}{pad}{marks}")
}

/// A name or an id as it can stand in a header. See [`code_span`].
pub(super) fn plain(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// Reads a code span at the start of `text`: its content and what follows it.
pub(super) fn read_code_span(text: &str) -> Option<(&str, &str)> {
    let marks = text.len() - text.trim_start_matches('`').len();
    if marks == 0 {
        return None;
    }
    let inside = &text[marks..];
    let mut at = 0;
    while let Some(found) = inside[at..].find('`') {
        let start = at + found;
        let length = inside[start..].len() - inside[start..].trim_start_matches('`').len();
        if length == marks {
            let content = &inside[..start];
            let spaced = content.starts_with(' ') && content.ends_with(' ') && !content.trim_matches(' ').is_empty();
            let content = if spaced { &content[1..content.len() - 1] } else { content };
            return Some((content, &inside[start + length..]));
        }
        at = start + length;
    }
    None
}

/// How many columns a line takes on the screen.
pub(super) fn columns(line: &str) -> usize {
    line.width()
}

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;
