//! How the lines of a buffer become the bytes of its file, as `:write` would write them.

use std::str::Utf8Error;

use serde::Deserialize;

/// What the host's options say about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct FileLayout {
    /// What ends a line.
    #[serde(rename = "format")]
    pub line_break: LineBreak,
    /// Whether the file begins with a byte order mark.
    pub byte_order_mark: bool,
    /// Whether the last line has a line break.
    pub end_of_line: bool,
    /// Whether a Ctrl-Z ends the file.
    pub end_of_file: bool,
    /// Whether the file has no line, not even the empty one that the buffer shows.
    pub is_empty: bool,
}

/// What ends a line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineBreak {
    /// A line feed.
    Unix,
    /// A carriage return and a line feed.
    Dos,
    /// A carriage return.
    Mac,
}

impl FileLayout {
    /// The layout of a file, and its lines. [`FileLayout::bytes`] of them gives the same bytes.
    ///
    /// # Errors
    /// When the file is not UTF-8 text.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<String>), Utf8Error> {
        let text = str::from_utf8(bytes)?;
        let without_mark = text.strip_prefix('\u{feff}');
        let text = without_mark.unwrap_or(text);
        let end_of_line = text.is_empty() || text.ends_with('\n');
        let whole = text.strip_suffix('\n').unwrap_or(text);
        // As Neovim tells them apart: each line break has its carriage return.
        let breaks = text.matches('\n').count();
        let is_dos = breaks > 0 && text.matches("\r\n").count() == breaks;
        let line = |line: &str| if is_dos { line.strip_suffix('\r').unwrap_or(line) } else { line }.to_owned();
        let mut lines: Vec<String> = whole.split('\n').map(line).collect();
        if is_dos && !end_of_line {
            // The last one has no line break, so a carriage return there is its own.
            lines.pop();
            lines.extend(whole.rsplit('\n').next().map(str::to_owned));
        }
        let layout = Self {
            line_break: if is_dos { LineBreak::Dos } else { LineBreak::Unix },
            byte_order_mark: without_mark.is_some(),
            end_of_line,
            end_of_file: false,
            is_empty: text.is_empty(),
        };
        Ok((layout, lines))
    }

    /// The bytes of a file, whose lines come in pieces, as a Unix file has them.
    pub fn bytes<'a>(self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        let pieces: Vec<&[u8]> = pieces.into_iter().filter(|_| !self.is_empty).collect();
        let mut bytes = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
        if self.byte_order_mark {
            bytes.extend_from_slice(b"\xef\xbb\xbf");
        }
        let begin = bytes.len();
        for piece in pieces {
            match self.line_break {
                LineBreak::Unix | LineBreak::Mac => bytes.extend_from_slice(piece),
                LineBreak::Dos => piece.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
                    bytes.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
                    bytes.extend_from_slice(b"\r\n");
                }),
            }
        }
        if self.line_break == LineBreak::Mac {
            for byte in &mut bytes[begin..] {
                match *byte {
                    b'\n' => *byte = b'\r',
                    b'\r' => *byte = b'\n',
                    _ => {}
                }
            }
        }
        if !self.end_of_line && bytes.len() > begin {
            let line_break = if self.line_break == LineBreak::Dos { 2 } else { 1 };
            bytes.truncate(bytes.len() - line_break);
        }
        if self.end_of_file {
            bytes.push(0x1a);
        }
        bytes
    }
}
