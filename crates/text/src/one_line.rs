//! Text from elsewhere, shown on one line of a message.

use std::borrow::Cow;

/// `text` on one line: control characters and runs of white space become one space, and after
/// `limit` characters it is cut with `…`.
pub fn one_line(text: &str, limit: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.take(limit + 1).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `text` with its control characters escaped (`a\nb`), so that it stays on one line. For file names, in which every
/// character matters.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// A number of things: `1 file`, `2 files`, `3 properties`.
pub fn things(number: usize, thing: &str) -> String {
    match (number, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
#[path = "one_line_tests.rs"]
mod tests;
