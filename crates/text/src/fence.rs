//! Fences: lines of backticks or tildes around code, tool input and tool output.
//!
//! The rules are those of CommonMark (<https://spec.commonmark.org/0.31.2/#fenced-code-blocks>): at most three spaces
//! of indent, at least three marks, and a closing line with at least as many. The fences that Flemma writes are
//! backticks, one longer than any run of backticks inside.

use super::code_span::longest_run;

/// An opening fence, which determines what closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    mark: u8,
    length: u32,
}

impl Fence {
    /// The fence that `line` opens, and its trimmed info string; `None` if it does not open a fence.
    pub fn open(line: &str) -> Option<(Self, &str)> {
        let (fence, rest) = Self::run(line)?;
        let info = rest.trim();
        // ```like this``` is an inline code span.
        (fence.mark == b'~' || !info.contains('`')).then_some((fence, info))
    }

    /// Whether `line` closes this fence.
    pub fn closes(self, line: &str) -> bool {
        Self::run(line).is_some_and(|(other, rest)| {
            other.mark == self.mark && other.length >= self.length && rest.trim().is_empty()
        })
    }

    /// The shortest fence of backticks that `content` cannot close.
    pub fn around(content: &str) -> Self {
        let length = u32::try_from(longest_run(content)).unwrap_or(u32::MAX - 1);
        Self { mark: b'`', length: (length + 1).max(3) }
    }

    /// The marks: they close the fence, and with an info string they open it.
    pub fn marks(self) -> String {
        char::from(self.mark).to_string().repeat(self.length as usize)
    }

    /// `content` in the shortest fence of backticks that it cannot close, with this info string.
    pub fn enclose(info: &str, content: &str) -> String {
        let marks = Self::around(content).marks();
        let end = if content.ends_with('\n') { "" } else { "\n" };
        format!("{marks}{info}\n{content}{end}{marks}")
    }

    /// The closing line in words. Inside the backticks of a message, marks would look like more of them.
    pub fn closing_line(self) -> String {
        let name = if self.mark == b'~' { "tildes" } else { "backticks" };
        format!("a line of {} {name}", self.length)
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

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;
