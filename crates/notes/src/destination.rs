//! Where the destination of a Markdown link stands in the text, and how one is written.

use std::{fmt::Write, ops::Range};

/// Characters that are written with `%`: they have a meaning in a URL, in Markdown or in a table.
const SPECIAL: [char; 11] = ['%', '?', '#', '<', '>', '\\', '&', '`', '[', ']', '|'];

/// The position of `destination`, which begins at `at` or behind white space there, without its angle brackets. `None` if there
/// is none before `end`.
pub(super) fn find(text: &str, at: usize, end: usize, destination: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // In a quotation, the line that goes on begins with a `>`. Anywhere else, a `>` belongs to the destination.
    let mut goes_on = false;
    let start = (at..end).find(|&at| match bytes[at] {
        b'\n' | b'\r' => {
            goes_on = true;
            false
        }
        b'>' => !goes_on,
        byte => !byte.is_ascii_whitespace(),
    });
    // Far enough from the margin, a line does not begin a quotation.
    let own = text[at..start.unwrap_or(end)].trim_end_matches('>').len() + at;
    if goes_on && destination.starts_with('>') && own < start.unwrap_or(end) {
        let found = end_of(bytes, own, end);
        if &text[own..found] == destination {
            return Some(own..found);
        }
    }
    let start = start?;
    if bytes[start] == b'<' {
        let close = unescaped(bytes, start + 1, end).find(|&at| bytes[at] == b'>')?;
        return Some(start + 1..close);
    }
    Some(start..end_of(bytes, start, end))
}

/// Where a destination without angle brackets ends that begins at `start`.
fn end_of(bytes: &[u8], start: usize, end: usize) -> usize {
    let mut depth = 0_usize;
    for at in unescaped(bytes, start, end) {
        match bytes[at] {
            b'(' => depth += 1,
            b')' if depth == 0 => return at,
            b')' => depth -= 1,
            byte if byte.is_ascii_whitespace() => return at,
            _ => {}
        }
    }
    end
}

/// The position behind the `]` of a label in square brackets that begins at `at`.
pub(super) fn after_label(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    unescaped(bytes, at, bytes.len()).find(|&at| bytes[at] == b']').map(|close| close + 1)
}

/// The positions of the bytes before which there is no backslash that escapes them.
fn unescaped(bytes: &[u8], start: usize, end: usize) -> impl Iterator<Item = usize> {
    let mut escaped = false;
    (start..end).filter(move |&at| {
        let is_escaped = escaped;
        escaped = !is_escaped && bytes[at] == b'\\';
        !is_escaped
    })
}

/// A path as a destination. What would end or change it is written with `%`. Letters of other scripts stay as they are.
pub(super) fn encode(path: &str, in_brackets: bool) -> String {
    let mut written = String::with_capacity(path.len());
    for sign in path.chars() {
        let is_plain = match sign {
            ' ' | '(' | ')' => in_brackets,
            sign => !SPECIAL.contains(&sign) && !sign.is_control() && !sign.is_whitespace(),
        };
        if is_plain {
            written.push(sign);
        } else {
            let mut buffer = [0; 4];
            for byte in sign.encode_utf8(&mut buffer).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(written, "%{byte:02X}");
            }
        }
    }
    // A colon in the first part would make a scheme of it.
    match written.split('/').next() {
        Some(first) if first.contains(':') => format!("./{written}"),
        _ => written,
    }
}
