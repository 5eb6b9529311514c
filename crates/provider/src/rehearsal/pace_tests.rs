use proptest::prelude::*;

use super::*;

#[test]
fn pieces_are_words_and_parts_of_long_words() {
    assert_eq!(
        pieces("A tour.\n\nInternationalisation, now"),
        ["A ", "tour.\n\n", "Internat", "ionalisa", "tion, ", "now"]
    );
    assert!(pieces("").is_empty());
}

proptest! {
    #[test]
    fn pieces_are_small_and_lose_nothing(text in "[a-zü🌱 \n]{0,80}") {
        let cut = pieces(&text);
        prop_assert_eq!(cut.concat(), text.as_str());
        prop_assert!(cut.iter().all(|piece| (1..=PIECE).contains(&piece.chars().count())));
    }
}

#[test]
fn a_pace_is_never_below_nothing_nor_without_end() {
    let second = Duration::from_secs(1);
    for (factor, pause) in [(1.0, 1), (0.0, 0), (2.0, 2), (-1.0, 0), (f64::INFINITY, 100), (f64::NAN, 1)] {
        assert_eq!(Pace::new(factor).of(second), Duration::from_secs(pause), "{factor}");
    }
}
