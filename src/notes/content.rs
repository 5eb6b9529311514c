//! The bytes of a page.

use std::borrow::Cow;

/// The byte order mark in UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Stands for a byte that is not valid UTF-8.
const SUBSTITUTE: char = '\u{1a}';

/// The content as text of the same length, so that a position in the text is one in the content. A byte that is not valid
/// UTF-8 is replaced by a control character.
pub(super) fn masked(content: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(content) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(content.len());
    for chunk in content.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| SUBSTITUTE));
    }
    Cow::Owned(text)
}

/// The length of the byte order mark that the content begins with.
pub(super) fn bom(content: &[u8]) -> usize {
    if content.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Whether there are line breaks, and all of them are CRLF.
pub(super) fn is_crlf(content: &[u8]) -> bool {
    let mut newlines = memchr::memchr_iter(b'\n', content).peekable();
    newlines.peek().is_some() && newlines.all(|newline| newline > 0 && content[newline - 1] == b'\r')
}

/// A text with the line breaks of the content, which it becomes a part of.
pub(super) fn with_breaks_of<'a>(content: &[u8], text: &'a str) -> Cow<'a, str> {
    if is_crlf(content) { Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")) } else { Cow::Borrowed(text) }
}

/// The line break of the content.
pub(super) fn line_break(content: &[u8]) -> &'static str {
    if is_crlf(content) { "\r\n" } else { "\n" }
}

/// The position behind the line break of the line that contains `at`; the end of the text if it has none.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1)
}

/// The start of the line that contains `at`.
pub(super) fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1)
}

/// The number of the line that contains `at`, from 1.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}
