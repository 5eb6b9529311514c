//! The blocks of calls, and what of them a reader need not see.

use std::ops::Range;

use flemma::chat::{CardPart, Document, Fate, Status};
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
    let cards = Document::parse(&text).cards(0..text.len());
    let found: Vec<_> = cards
        .iter()
        .map(|card| (card.lines.start, card.name.as_str(), card.part == CardPart::Use, card.fate))
        .collect();
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
    assert_eq!(cards[2].part, CardPart::Result { output: 2, status: None });
}

#[test]
fn inputs_fences_and_the_end_of_thinking_are_hidden() {
    let text = screen(TEXT);
    let hidden = Document::parse(&text).hidden(0..text.len(), &text);
    let ends = |lines: &[Range<usize>]| lines.iter().map(|lines| (lines.start, lines.end)).collect::<Vec<_>>();
    let lines: Vec<_> = hidden.into_iter().map(|hidden| (hidden.block, ends(&hidden.lines))).collect();
    assert_eq!(
        lines,
        [
            (1..4, vec![(3, 4)]),
            (4..9, vec![(5, 9)]),
            (9..13, vec![(10, 13)]),
            (15..21, vec![(16, 18), (20, 21)]),
            (21..25, vec![(24, 25)]),
        ]
    );
}

proptest! {
    #[test]
    fn cards_are_the_same_from_whatever_line_they_are_seen(
        text in prop::collection::vec(line(), 0..60),
    ) {
        let document = Document::parse(&text);
        for card in document.cards(0..text.len()) {
            for line in card.lines.clone() {
                prop_assert_eq!(&document.cards(line..line + 1), std::slice::from_ref(&card));
            }
        }
        let mut end = 0;
        for hidden in document.hidden(0..text.len(), &text) {
            prop_assert!(hidden.block.start >= end && hidden.block.end <= text.len());
            end = hidden.block.end;
            let mut from = hidden.block.start + 1;
            for lines in &hidden.lines {
                // The first line of a block is never hidden: the cursor and folds need it.
                prop_assert!(lines.start >= from && lines.start < lines.end && lines.end <= end);
                from = lines.end;
            }
            for line in hidden.block.clone() {
                prop_assert_eq!(&document.hidden(line..line + 1, &text), std::slice::from_ref(&hidden));
            }
        }
    }
}
