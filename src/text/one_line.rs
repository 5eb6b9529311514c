//! Foreign text, made fit to stand in a message of ours.

/// `text` on one line: control characters and runs of white space become one space, and after
/// `limit` characters it is cut with `…`.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    for (nth, word) in words.enumerate() {
        for c in (nth > 0).then_some(' ').into_iter().chain(word.chars()) {
            if count == limit {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}
