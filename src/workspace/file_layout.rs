//! How the lines of a buffer become the bytes of its file, as `:write` would write them.

/// What the host's options say about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLayout {
    /// What ends a line.
    pub line_break: LineBreak,
    /// Whether the file begins with a byte order mark.
    pub byte_order_mark: bool,
    /// Whether the last line has a line break.
    pub end_of_line: bool,
    /// Whether a Ctrl-Z ends the file.
    pub end_of_file: bool,
}

/// What ends a line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineBreak {
    /// A line feed.
    Unix,
    /// A carriage return and a line feed.
    Dos,
    /// A carriage return.
    Mac,
}

impl FileLayout {
    /// The bytes of a file. `read` gives each of the `count` lines; a line feed in a line stands for a NUL.
    pub fn bytes(self, count: usize, read: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.byte_order_mark {
            bytes.extend_from_slice(b"\xef\xbb\xbf");
        }
        let line_break: &[u8] = match self.line_break {
            LineBreak::Unix => b"\n",
            LineBreak::Dos => b"\r\n",
            LineBreak::Mac => b"\r",
        };
        let mut index = 0;
        read(&mut |line| {
            let begin = bytes.len();
            bytes.extend_from_slice(line);
            for byte in &mut bytes[begin..] {
                match *byte {
                    b'\n' => *byte = 0,
                    b'\r' if self.line_break == LineBreak::Mac => *byte = b'\n',
                    _ => {}
                }
            }
            index += 1;
            if index < count || self.end_of_line {
                bytes.extend_from_slice(line_break);
            }
        });
        if self.end_of_file {
            bytes.push(0x1a);
        }
        bytes
    }
}
