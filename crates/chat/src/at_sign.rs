//! The `@` signs in prose that begin a word: references to files and names of tools begin with one.

use flemma_text::code_span::read_code_span;

/// Reads what follows each `@` in a line of prose, in order. Code spans, which end with the line, are left out, and so is an `@`
/// that follows anything but white space or one of the characters in `before`.
///
/// `read` gets the text behind the sign, its position in the line and the character before the sign. It returns how many bytes
/// it has taken.
pub(super) fn read_at_signs(line: &str, before: &str, mut read: impl FnMut(&str, usize, Option<char>) -> usize) {
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'@', b'`', &line.as_bytes()[at..]) {
        let start = at + next;
        let rest = &line[start..];
        if rest.starts_with('`') {
            let marks = rest.len() - rest.trim_start_matches('`').len();
            at = read_code_span(rest).map_or(start + marks, |(_, behind)| line.len() - behind.len());
            continue;
        }
        let preceding = line[..start].chars().next_back();
        let begins = preceding.is_none_or(|preceding| preceding.is_whitespace() || before.contains(preceding));
        at = start + 1 + if begins { read(&rest[1..], start + 1, preceding) } else { 0 };
    }
}
