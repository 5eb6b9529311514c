//! Text that comes in pieces, and then once more as a whole.

use super::loose_json;

/// What a whole text has behind its pieces, as far as they have come; `None` if it is another text. White space does not count:
/// servers trim one of them.
pub(super) fn rest(pieces: &str, whole: &str) -> Option<String> {
    // Pieces are cut inside of characters.
    let pieces = loose_json::whole(pieces);
    let is_ink = |letter: &char| !letter.is_whitespace();
    let mut left = whole.char_indices().filter(|(_, letter)| is_ink(letter));
    let mut end = 0;
    for letter in pieces.chars().filter(is_ink) {
        match left.next() {
            Some((at, same)) if same == letter => end = at + same.len_utf8(),
            Some(_) => return None,
            None => return Some(String::new()),
        }
    }
    let rest = &whole[end..];
    let is_apart = pieces.ends_with(char::is_whitespace) || rest.trim().is_empty();
    Some(if is_apart { rest.trim_start() } else { rest }.to_owned())
}
