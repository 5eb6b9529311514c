//! "Did you mean": the known name that a mistyped one was probably meant to be.

/// How alike two names must be (Jaro-Winkler, 0 to 1) before one is offered for the other.
const ALIKE: f64 = 0.84;

/// The candidate nearest to `word`, or `None` when nothing is near enough to be worth a guess.
///
/// Letter case is ignored; among equals the first candidate wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let mut best: Option<(&str, f64)> = None;
    for candidate in candidates {
        let score = strsim::jaro_winkler(&word, &candidate.to_lowercase());
        if score >= ALIKE && best.is_none_or(|(_, highest)| score > highest) {
            best = Some((candidate, score));
        }
    }
    best.map(|(candidate, _)| candidate)
}
