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
