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

/// The text with a line feed for each carriage return that stands alone. In Markdown and in YAML, both end a line, but not every part
/// of the parser knows that.
pub(super) fn with_line_feeds(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_alone = |at: &usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    let alone: Vec<usize> = memchr::memchr_iter(b'\r', text.as_bytes()).filter(is_alone).collect();
    if alone.is_empty() {
        return text;
    }
    let mut text = text.into_owned();
    for at in alone {
        text.replace_range(at..=at, "\n");
    }
    Cow::Owned(text)
}

/// A text with the line breaks of the content, which it becomes a part of.
pub(super) fn with_breaks_of<'a>(content: &[u8], text: &'a str) -> Cow<'a, str> {
    match line_break(content) {
        "\n" => Cow::Borrowed(text),
        other => Cow::Owned(text.replace("\r\n", "\n").replace('\n', other)),
    }
}

/// The line break of the content: what all of its lines end in, and LF where they differ.
pub(super) fn line_break(content: &[u8]) -> &'static str {
    let has = |sign| memchr::memchr(sign, content).is_some();
    let is_crlf = |newline: usize| newline > 0 && content[newline - 1] == b'\r';
    match (has(b'\r'), has(b'\n')) {
        (true, false) => "\r",
        (true, true) if memchr::memchr_iter(b'\n', content).all(is_crlf) => "\r\n",
        _ => "\n",
    }
}

/// The position behind the line break of the line that contains `at`; the end of the text if it has none.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1)
}

/// The start of the line that contains `at`.
pub(super) fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1)
}

/// The number of the line that contains `at`, from 1, as Neovim and `read` count: only a line feed ends a line.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}
