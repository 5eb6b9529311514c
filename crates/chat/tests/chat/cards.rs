//! The blocks of calls, and what of them a reader need not see.

use std::ops::Range;

use flemma_chat::{Document, Fate, Status};
use proptest::prelude::*;

use super::{incremental::line, notation::screen};

const TEXT: &str = "
    @Assistant:
    <thinking>
    hm
    </thinking>
    **Tool Use:** `read` (`a`)

    ```json
    {}
    ```
    **Tool Use:** `bash` (`b`)
    ```json
    {}
    ```

    @You:
    **Tool Result:** `a`

    ```
    one
    two
    ```
    **Tool Result:** `b`
    ```flemma:tool status=rejected
    no
    ```
";

#[test]
fn a_card_says_what_became_of_its_call() {
    let text = screen(TEXT);
    let cards = flemma_chat::cards(&Document::parse(&text), 0..text.len());
    let found: Vec<_> =
        cards.iter().map(|card| (card.lines.start, card.name.as_str(), card.is_use, card.fate)).collect();
    let rejected = Fate::Status(Status::Rejected);
    assert_eq!(
        found,
        [
            (4, "read", true, Fate::Done),
            (9, "bash", true, rejected),
            (15, "read", false, Fate::Done),
            (21, "bash", false, rejected)
        ]
    );
    assert_eq!((cards[2].output, &cards[2].status), (2, &None));
}

#[test]
fn the_fences_of_what_waits_and_has_failed_are_hidden() {
    let text = screen(&TEXT.replace("Result:** `a`", "Result:** `a` (error)"));
    let hidden = flemma_chat::hidden(&Document::parse(&text), 0..text.len(), &text);
    let ends = |lines: &[Range<usize>]| lines.iter().map(|lines| (lines.start, lines.end)).collect::<Vec<_>>();
    let lines: Vec<_> = hidden.into_iter().map(|hidden| (hidden.block, hidden.card, ends(&hidden.lines))).collect();
    assert_eq!(
        lines,
        [
            (0..1, 0, vec![]),
            (1..4, 2, vec![(1, 2)]),
            (4..9, 4, vec![]),
            (9..13, 9, vec![]),
            (14..21, 15, vec![(14, 15), (16, 18), (20, 21)]),
            (21..25, 21, vec![(22, 23)]),
        ]
    );
}

proptest! {
    #[test]
    fn cards_are_the_same_from_whatever_line_they_are_seen(
        text in prop::collection::vec(line(), 0..60),
    ) {
        let document = Document::parse(&text);
        for card in flemma_chat::cards(&document, 0..text.len()) {
            for line in card.lines.clone() {
                prop_assert_eq!(&flemma_chat::cards(&document, line..line + 1), std::slice::from_ref(&card));
            }
        }
        let mut end = 0;
        for hidden in flemma_chat::hidden(&document, 0..text.len(), &text) {
            prop_assert!(hidden.block.start >= end && hidden.block.end <= text.len());
            end = hidden.block.end;
            let mut from = hidden.block.start;
            for lines in &hidden.lines {
                // The card is never hidden, and neither is the last line of the text: the cursor may rest there.
                prop_assert!(lines.start >= from && lines.start < lines.end && lines.end <= end);
                prop_assert!(!lines.contains(&hidden.card) && lines.end < text.len());
                from = lines.end;
            }
            for line in hidden.block.clone() {
                prop_assert_eq!(&flemma_chat::hidden(&document, line..line + 1, &text), std::slice::from_ref(&hidden));
            }
        }
    }
}
