//! "Did you mean": the known word that was probably meant by a misspelled one.

/// The least similarity at which a word is suggested, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.7;

/// The longest word that is looked at, in bytes. The time that a comparison takes grows with the product of the lengths.
const LONGEST: usize = 256;

/// The candidate closest to `word`, or `None` if none is close.
///
/// Case is ignored. Of equally close candidates the first in sort order is returned, so that messages are the same in
/// every run.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, candidates, 1).into_iter().next()
}

/// The `count` candidates that are closest to `word`, closest first; fewer if fewer are close.
pub fn nearest_few<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    if word.len() > LONGEST {
        return Vec::new();
    }
    let word = word.to_lowercase();
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (likeness(&word, &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(count);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The similarity of two words. Jaro-Winkler handles swapped letters and common prefixes; the edit distance handles a
/// missing prefix, which Jaro-Winkler does not.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b).max(strsim::normalized_damerau_levenshtein(a, b))
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_few};

    const TOOLS: [&str; 4] = ["bash", "calculator", "read", "write"];

    #[test]
    fn a_misspelled_word_finds_the_one_that_was_meant() {
        assert_eq!(nearest("calcuIator", TOOLS), Some("calculator"));
        assert_eq!(nearest("raed", TOOLS), Some("read"));
        assert_eq!(nearest("Wirte", TOOLS), Some("write"));
    }

    #[test]
    fn a_word_that_is_like_nothing_finds_nothing() {
        assert_eq!(nearest("kubernetes", TOOLS), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn several_suggestions_come_closest_first() {
        assert_eq!(nearest_few("config.la", ["conf.lua", "config.lua", "readme"], 2), ["config.lua", "conf.lua"]);
    }
}
