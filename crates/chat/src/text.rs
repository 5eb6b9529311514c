//! The interface through which the core reads lines.

use std::ops::Range;

/// The lines of a document. Lines are numbered from 0 and do not include the line break.
///
/// Neovim's buffer and a plain `[String]` implement it. Bytes that are not valid UTF-8 are read as U+FFFD.
pub trait Text {
    /// The number of lines.
    fn line_count(&self) -> usize;

    /// Calls `each` with every line in `lines`, in order. Lines past the end are skipped.
    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str));

    /// One line; empty past the end.
    fn line(&self, line: usize) -> String {
        let mut found = String::new();
        self.read(line..line + 1, &mut |text| found.push_str(text));
        found
    }

    /// These lines.
    fn lines(&self, lines: Range<usize>) -> Vec<String> {
        let mut found = Vec::new();
        self.read(lines, &mut |line| found.push(line.to_owned()));
        found
    }

    /// The number of bytes of a line in its buffer. It equals the length of [`Text::line`], unless the line has bytes
    /// that are not valid UTF-8.
    fn length(&self, line: usize) -> usize {
        self.line(line).len()
    }

    /// Like [`Text::read`], but each line is as it is in its buffer, also if it is not valid UTF-8.
    fn read_bytes(&self, lines: Range<usize>, each: &mut dyn FnMut(&[u8])) {
        self.read(lines, &mut |line| each(line.as_bytes()));
    }

    /// The first of these lines that is not blank.
    fn first_written(&self, mut lines: Range<usize>) -> Option<usize> {
        lines.find(|line| !self.line(*line).trim().is_empty())
    }

    /// The last of these lines that is not blank.
    fn last_written(&self, lines: Range<usize>) -> Option<usize> {
        lines.rev().find(|line| !self.line(*line).trim().is_empty())
    }

    /// Whether all of these lines are blank.
    fn is_blank(&self, lines: Range<usize>) -> bool {
        self.first_written(lines).is_none()
    }

    /// The number of bytes of all lines, with one more for the end of each line; `None` if it is not known without reading
    /// them.
    fn size(&self) -> Option<usize> {
        None
    }
}

impl<T: AsRef<[String]> + ?Sized> Text for T {
    fn line_count(&self) -> usize {
        self.as_ref().len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        let all = self.as_ref();
        all.get(lines.start..lines.end.min(all.len())).unwrap_or_default().iter().for_each(|line| each(line));
    }
}

/// Some lines of a text, which are read once. The others are read from the text.
pub struct Slice<'a> {
    text: &'a dyn Text,
    first: usize,
    buffer: String,
    ends: Vec<usize>,
}

impl<'a> Slice<'a> {
    /// Reads these lines.
    pub fn read(text: &'a dyn Text, lines: Range<usize>) -> Self {
        let mut slice = Self { text, first: lines.start, buffer: String::new(), ends: Vec::with_capacity(lines.len()) };
        text.read(lines, &mut |line| {
            slice.buffer.push_str(line);
            slice.ends.push(slice.buffer.len());
        });
        slice
    }

    /// One of these lines.
    pub(super) fn get(&self, line: usize) -> Option<&str> {
        let index = line.checked_sub(self.first)?;
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        Some(&self.buffer[start..*self.ends.get(index)?])
    }
}

impl Text for Slice<'_> {
    fn line_count(&self) -> usize {
        self.text.line_count()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        if self.first <= lines.start && lines.end <= self.first + self.ends.len() {
            lines.filter_map(|line| self.get(line)).for_each(each);
        } else {
            self.text.read(lines, each);
        }
    }
}

/// The lines of a file, as an editor counts them: a final line break does not start another line.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::to_owned).collect()
}

/// A change of lines, like `on_lines` of `nvim_buf_attach`: the lines `first..old_last` became the lines
/// `first..new_last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first line that changed.
    pub first: usize,
    /// One past the last changed line, in the numbering before the change.
    pub old_last: usize,
    /// One past the last changed line, in the numbering after the change.
    pub new_last: usize,
}

impl Change {
    /// This change and the next one as one change, which has the lines in between as well.
    pub fn then(self, next: Self) -> Self {
        let last = self.new_last.max(next.old_last);
        Self {
            first: self.first.min(next.first),
            old_last: self.old_last + (last - self.new_last),
            new_last: last - next.old_last + next.new_last,
        }
    }
}
