//! Which lines can be folded, and which folds begin closed.

use flemma_chat::{Begins, Document, Extent, Fold, FoldGroup, Folded, Selection, Speaker};
use proptest::prelude::*;

use super::{incremental::line, notation::screen};

const TURN: &str = "
    ```lua
    flemma.opt.model = 'x'
    ```

    @You:
    Hello!

    @Assistant:
    <thinking>
    Hm.
    </thinking>

    Let me look.

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
    ```

    **Tool Result:** `b` (error)

    ```
    no
    ```

    @Assistant:
    Done.
    ";

fn groups(text: &[String], is_growing: bool) -> Vec<FoldGroup> {
    flemma_chat::folds(&Document::parse(&text), 0..text.len(), &text, is_growing)
}

/// Each fold, outer ones first: its lines and state.
fn folds(text: &str, is_growing: bool) -> Vec<(std::ops::Range<usize>, Begins)> {
    let all = groups(&screen(text), is_growing);
    let all = all.into_iter().flat_map(|group| group.outer.into_iter().chain(group.inner));
    all.map(|Fold { lines, begins }| (lines, begins)).collect()
}

#[test]
fn messages_contain_thinking_and_cards() {
    let expected = [
        (0..3, Begins::Detail),
        (4..7, Begins::Chapter),
        (7..26, Begins::Chapter),
        // The tag is hidden.
        (9..11, Begins::Detail),
        (14..20, Begins::Detail),
        (20..25, Begins::Detail),
        (27..33, Begins::Detail),
        (33..39, Begins::Open),
    ];
    assert_eq!(folds(TURN, false), expected);
    assert_eq!(folds(TURN, true), expected, "the last message is no fold");
}

#[test]
fn a_message_with_one_good_result_is_one_fold() {
    let text = "
        @Assistant:
        **Tool Use:** `read` (`a`)

        ```json
        {}
        ```

        @You:
        **Tool Result:** `a`

        ```
        one
        ```

        @Assistant:
        Done.
        ";
    let found = folds(text, false);
    assert_eq!(found[2], (7..14, Begins::Detail));
    assert_eq!(found.len(), 3, "{found:?}");
    let waiting = folds(&text.replace("```\n        one", "```flemma:tool status=pending\n        "), false);
    assert_eq!(waiting[1], (1..6, Begins::Detail), "the use of a call that waits");
    assert_eq!(waiting.len(), 2, "what waits is no fold: {waiting:?}");
    let with_words = folds(
        &text.replace("        @Assistant:\n        Done", "        Thanks.\n        @You:\n        Done"),
        false,
    );
    assert_eq!(with_words[2].1, Begins::Chapter, "{with_words:?}");
}

#[test]
fn levels_close_messages_last() {
    for (begins, closed) in [
        (Begins::Chapter, [true, false, false]),
        (Begins::Detail, [true, true, false]),
        (Begins::Open, [false, false, false]),
    ] {
        assert_eq!([0, 1, 2].map(|level| begins.is_closed(level)), closed, "{begins:?}");
    }
}

#[test]
fn a_block_that_is_not_complete_is_no_fold_while_it_grows() {
    let text = "
        @Assistant:
        <thinking>
        Hm.
        ";
    assert_eq!(folds(text, true), []);
    assert_eq!(folds(text, false), [(1..3, Begins::Detail)]);
}

/// The lines of an object, counted from 0.
fn object(
    text: &str,
    kind: &str,
    lines: std::ops::Range<usize>,
    is_selected: bool,
    extent: Extent,
    count: usize,
) -> Option<std::ops::Range<usize>> {
    let text = screen(text);
    let document = Document::parse(&text);
    let selection = Selection { lines, is_selected, extent, count };
    let found = match kind {
        "message" => flemma_chat::message_object(&document, &selection, &text),
        _ => flemma_chat::card_object(&document, &selection, &text),
    };
    found.map(|found| found.lines)
}

#[test]
fn a_message_object_grows_by_messages() {
    let message = |lines, is_selected, extent, count| object(TURN, "message", lines, is_selected, extent, count);
    assert_eq!(message(5..6, false, Extent::Inner, 1), Some(5..6));
    assert_eq!(message(5..6, false, Extent::Whole, 1), Some(4..7));
    assert_eq!(message(5..6, false, Extent::Whole, 2), Some(4..26));
    assert_eq!(message(4..7, true, Extent::Whole, 1), Some(4..26));
    assert_eq!(message(4..26, true, Extent::Whole, 1), Some(4..39));
    assert_eq!(message(4..26, true, Extent::Whole, 9), Some(4..41));
    assert_eq!(message(5..6, true, Extent::Inner, 1), Some(5..25), "the blank line at the end is left out");
    assert_eq!(message(1..2, false, Extent::Inner, 1), None, "before the first message");
    let text = "
        @You: Hello
        there

        @Assistant:

        @You:
        ";
    assert_eq!(object(text, "message", 1..2, false, Extent::Inner, 1), Some(0..2));
    assert_eq!(object(text, "message", 3..4, false, Extent::Inner, 1), None, "there is nothing in it");
    let text = screen(text);
    let selection = Selection { lines: 0..1, is_selected: false, extent: Extent::Inner, count: 1 };
    let found = flemma_chat::message_object(&Document::parse(&text), &selection, &text);
    assert_eq!(found.unwrap().column, Some(6));
}

#[test]
fn a_card_grows_from_its_content_to_its_result() {
    let card = |lines, is_selected, extent, count| object(TURN, "tool", lines, is_selected, extent, count);
    assert_eq!(card(16..17, false, Extent::Inner, 1), Some(17..18));
    assert_eq!(card(14..15, false, Extent::Whole, 1), Some(14..20));
    assert_eq!(card(17..18, true, Extent::Inner, 1), Some(14..20));
    assert_eq!(card(14..20, true, Extent::Whole, 1), Some(14..33), "to the end of its result");
    assert_eq!(card(14..15, false, Extent::Whole, 2), Some(14..33));
    assert_eq!(card(35..36, false, Extent::Whole, 1), Some(33..39));
    assert_eq!(card(36..37, false, Extent::Inner, 1), Some(36..37));
    assert_eq!(card(12..13, false, Extent::Whole, 1), None, "prose");
}

#[test]
fn no_lines_at_the_start_have_no_folds() {
    let text = screen(TURN);
    let document = Document::parse(&text);
    assert_eq!(flemma_chat::folds(&document, 0..0, &text, false), []);
    assert_eq!(flemma_chat::folds(&document, 0..1, &text, false).len(), 1, "the frontmatter");
}

#[test]
fn what_is_in_a_fold_is_told_by_its_lines() {
    let text = screen(TURN);
    let document = Document::parse(&text);
    let Some(Folded::Message { speaker, words, tools }) = flemma_chat::folded(&document, &(7..26), &text) else {
        panic!()
    };
    assert_eq!(
        (speaker, words.as_str(), tools),
        (Speaker::Assistant, "Let me look.", vec!["read".into(), "bash".into()])
    );
    assert_eq!(flemma_chat::folded(&document, &(9..11), &text), Some(Folded::Thinking { lines: 1 }));
    assert_eq!(flemma_chat::folded(&document, &(27..33), &text), Some(Folded::Card));
    let cards = flemma_chat::cards(&document, 26..39);
    assert_eq!(cards.iter().map(|card| card.name.as_str()).collect::<Vec<_>>(), ["read", "bash"]);
    assert_eq!(flemma_chat::folded(&document, &(5..7), &text), None, "a fold that the user made");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn folds_are_nested_and_the_same_in_every_window(
        text in prop::collection::vec(line(), 0..60),
        (first, last) in (0_usize..60, 0_usize..60),
        is_growing in any::<bool>(),
    ) {
        let document = Document::parse(&text);
        let all = flemma_chat::folds(&document, 0..text.len(), &text, is_growing);
        let mut end = 0;
        for group in &all {
            prop_assert_eq!(group.lines.start, end, "groups follow each other");
            end = group.lines.end;
            if let Some(outer) = &group.outer {
                prop_assert!(outer.lines.start == group.lines.start && outer.lines.end <= end && outer.lines.len() > 1);
            }
            let mut inner_end = group.lines.start;
            for fold in &group.inner {
                prop_assert!(fold.lines.start >= inner_end && fold.lines.len() > 1, "{fold:?}");
                inner_end = fold.lines.end;
            }
            prop_assert!(inner_end <= end);
        }
        prop_assert!(all.is_empty() || end == text.len());
        let range = first.min(last)..first.max(last);
        let some = flemma_chat::folds(&document, range.clone(), &text, is_growing);
        let expected: Vec<_> = all
            .into_iter()
            .filter(|group| group.lines.start < range.end && group.lines.end > range.start)
            .collect();
        prop_assert_eq!(some, expected);
    }
}
