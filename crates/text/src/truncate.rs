//! Truncates text to a size that suits a document and a model.
//!
//! [`truncate_head`] keeps the beginning (files), [`truncate_tail`] the end (output of programs). Both keep whole
//! lines, up to a limit of lines and of bytes. They take text or bytes and read only what they keep, except to count
//! the lines, which costs about as much as reading the memory. Nothing is copied unless the kept part is not valid
//! UTF-8. Then invalid bytes become U+FFFD in a copy, and the limit of bytes applies to the copy.
//!
//! * A line ends at `\n`; the `\r` of a CRLF belongs to the line and is kept.
//! * A final newline ends the last line and does not begin another: `"a\n"` is one line, `""` is none, `"\n"` is one.
//! * A text within both limits is returned unchanged. A truncated one is returned without the newline of its last line.
//!   A text that exceeds a limit only by its final newline loses the newline and does not count as truncated.
//! * A single line over the byte limit: the head is empty and sets `first_line_exceeds_limit`; the tail is the end of
//!   the line, cut between characters, and sets `last_line_partial`.
//! * NUL and other control characters are treated like any other character.

use std::borrow::Cow;

use serde::Serialize;

/// The maximum number of lines in a result.
pub const MAX_LINES: usize = 2000;

/// The maximum number of bytes in a result: 50 KB.
pub const MAX_BYTES: usize = 50 * 1024;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of lines.
    pub lines: usize,
    /// The maximum number of bytes.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: MAX_LINES, bytes: MAX_BYTES }
    }
}

/// Which limit cut a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// The number of lines.
    Lines,
    /// The number of bytes.
    Bytes,
}

/// A truncated text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truncation<'a> {
    /// The part that was kept.
    pub content: Cow<'a, str>,
    /// Whether anything was cut.
    pub truncated: bool,
    /// The limit that cut it; `None` if nothing was cut.
    pub truncated_by: Option<Limit>,
    /// Lines of the whole text.
    pub total_lines: usize,
    /// Bytes of the whole text.
    pub total_bytes: usize,
    /// Lines of `content`; a partial line counts.
    pub output_lines: usize,
    /// Bytes of `content`.
    pub output_bytes: usize,
    /// Whether `content` is only the end of a line.
    pub last_line_partial: bool,
    /// Whether `content` is empty because the first line alone exceeds the limit of bytes.
    pub first_line_exceeds_limit: bool,
}

/// How much is read beyond the limit of bytes: a final newline, one byte that shows that the limit is exceeded, and the
/// rest of a character.
const MARGIN: usize = 5;

/// Keeps the beginning of `text`: as many whole lines as `limits` allow.
pub fn truncate_head<T: AsRef<[u8]> + ?Sized>(text: &T, limits: Limits) -> Truncation<'_> {
    let bytes = text.as_ref();
    let end = bytes.len().min(limits.bytes.saturating_add(MARGIN));
    keep(String::from_utf8_lossy(&bytes[..end]), bytes, limits, true)
}

/// Keeps the end of `text`: as many whole lines as `limits` allow, or the end of the last line if it alone exceeds the
/// limit of bytes.
pub fn truncate_tail<T: AsRef<[u8]> + ?Sized>(text: &T, limits: Limits) -> Truncation<'_> {
    let bytes = text.as_ref();
    let mut start = bytes.len().saturating_sub(limits.bytes.saturating_add(MARGIN));
    if start > 0 {
        // After three continuation bytes there is the beginning of a character or an invalid byte.
        start += bytes[start..].iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    }
    keep(String::from_utf8_lossy(&bytes[start..]), bytes, limits, false)
}

/// Truncates `part`, which is the beginning or the end of `whole`: all of it, or more than the limit of bytes.
fn keep<'a>(part: Cow<'a, str>, whole: &[u8], limits: Limits, is_head: bool) -> Truncation<'a> {
    let mut cut = Truncation { total_lines: count_lines(whole), total_bytes: whole.len(), ..Truncation::default() };
    let body = part.strip_suffix('\n').unwrap_or(&part);
    let at = if cut.total_lines <= limits.lines && body.len() <= limits.bytes {
        cut.output_lines = cut.total_lines;
        0..if part.len() <= limits.bytes { part.len() } else { body.len() }
    } else {
        let size = cut.size_of_lines(body, limits, is_head);
        if is_head { 0..size } else { body.len() - size..body.len() }
    };
    cut.content = match part {
        Cow::Borrowed(part) => Cow::Borrowed(&part[at]),
        Cow::Owned(part) => Cow::Owned(part[at].to_owned()),
    };
    cut.output_bytes = cut.content.len();
    cut
}

impl Truncation<'_> {
    /// Notes how many lines of a text that is too long are kept, and gives how many bytes these have.
    fn size_of_lines(&mut self, body: &str, limits: Limits, is_head: bool) -> usize {
        let (mut newlines, length) = (memchr::memchr_iter(b'\n', body.as_bytes()), body.len());
        // The sizes with a line more each time, without the newline at their end. The last one may have no newline.
        let next = move || if is_head { newlines.next() } else { newlines.next_back().map(|at| length - at - 1) };
        let (mut size, mut by) = (0, Limit::Lines);
        for more in std::iter::from_fn(next).chain([length]).take(limits.lines) {
            if more > limits.bytes {
                by = Limit::Bytes;
                break;
            }
            (size, self.output_lines) = (more, self.output_lines + 1);
        }
        (self.truncated, self.truncated_by) = (true, Some(by));
        let is_long_line = self.output_lines == 0 && by == Limit::Bytes;
        (self.first_line_exceeds_limit, self.last_line_partial) = (is_long_line && is_head, is_long_line && !is_head);
        if self.last_line_partial {
            size = length - body.ceil_char_boundary(length - limits.bytes);
            self.output_lines = usize::from(size > 0);
        }
        size
    }
}

/// The beginning of a text: at most `bytes` bytes, cut between characters.
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The number of lines of a text. The module page says what counts as a line.
pub fn count_lines(text: &[u8]) -> usize {
    let newlines = memchr::memchr_iter(b'\n', text).count();
    newlines + usize::from(text.last().is_some_and(|&last| last != b'\n'))
}

/// A number of bytes as people write it: `512 B`, `12.1 KB`, `3.0 MB`, `1.5 GB`, in steps of 1024.
pub fn format_size(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in ["KB", "MB", "GB", "TB"] {
        // A number that would be rounded to 1024.0 is written in the next unit.
        if size < 1023.95 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") }
}
