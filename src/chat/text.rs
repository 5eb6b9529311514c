//! How the core reads lines, whoever holds them.

use std::ops::Range;

/// The lines of a document. Lines are numbered from 0 and carry no line break.
///
/// Neovim's buffer and a plain `[String]` both implement it; bytes that are no UTF-8 arrive as U+FFFD.
pub trait Text {
    /// How many lines there are.
    fn line_count(&self) -> usize;

    /// Calls `each` with every line of `lines`, in order; lines past the end are left out.
    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str));

    /// One line; empty past the end.
    fn line(&self, line: usize) -> String {
        let mut found = String::new();
        self.read(line..line + 1, &mut |text| found.push_str(text));
        found
    }

    /// How many bytes a line has where it is kept. That is the length of [`Text::line`], except where
    /// bytes that are no UTF-8 are read as something longer.
    fn length(&self, line: usize) -> usize {
        self.line(line).len()
    }
}

impl Text for [String] {
    fn line_count(&self) -> usize {
        self.len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        let end = lines.end.min(self.len());
        for line in self.get(lines.start..end).unwrap_or_default() {
            each(line);
        }
    }
}

impl Text for Vec<String> {
    fn line_count(&self) -> usize {
        self.len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        self.as_slice().read(lines, each);
    }
}

impl<T: Text + ?Sized> Text for &T {
    fn line_count(&self) -> usize {
        (**self).line_count()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        (**self).read(lines, each);
    }
}

/// The lines of a file, as an editor counts them: the line break at the end starts no further line.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::to_owned).collect()
}

/// A change of lines, in the terms of `nvim_buf_attach`'s `on_lines`: the lines `first..old_last`
/// became the lines `first..new_last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first line that changed.
    pub first: usize,
    /// One past the last line that changed, counted before the change.
    pub old_last: usize,
    /// One past the last line that changed, counted after the change.
    pub new_last: usize,
}
