//! Lines that are cut between words, to fit into a width.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How far the rest of a line that is too long is indented.
const INDENT: usize = 2;

/// Cuts a line into lines of at most `width` cells, between words where it can.
pub fn wrap(line: &str, width: usize) -> Vec<String> {
    wrap_with(line, width, &" ".repeat(INDENT.min(width.saturating_sub(1))))
}

/// The same, with this indent of all lines but the first.
pub fn wrap_with(line: &str, width: usize, indent: &str) -> Vec<String> {
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let mut lines = Vec::new();
    // Measured letter by letter: a line may be long.
    let (mut current, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        if used + word.trim_end().width() > width && !current.trim().is_empty() {
            lines.push(current.trim_end().to_owned());
            (current, used) = (indent.to_owned(), indent.width());
        }
        for letter in word.graphemes(true) {
            let cells = letter.width();
            if used + cells > width && letter != " " && !current.trim().is_empty() {
                lines.push(std::mem::replace(&mut current, indent.to_owned()));
                used = indent.width();
            }
            current.push_str(letter);
            used += cells;
        }
    }
    lines.push(current.trim_end().to_owned());
    lines
}
