//! What of the screen is Markdown, and what is code.

use flemma_chat::{Document, Region};
use proptest::prelude::*;

use super::{incremental::line, notation::screen};

fn passages(text: &str) -> Vec<(std::ops::Range<usize>, Option<usize>)> {
    let text = screen(text);
    let found = flemma_chat::regions(&Document::parse(&text), 0..text.len());
    found.into_iter().map(|Region { lines, fence }| (lines, fence)).collect()
}

#[test]
fn prose_is_markdown_and_what_stands_in_a_fence_is_code() {
    let found = passages(
        "
        @You:
        Look at this:
        ```lua
        local x
        ```
        Thanks.
        ",
    );
    assert_eq!(found, [(1..2, None), (3..4, Some(2)), (5..6, None)]);
}

#[test]
fn a_calls_input_and_output_are_code_and_headers_are_not() {
    let found = passages(
        "
        @Assistant:
        **Tool Use:** `read` (`a`)

        ```json
        {}
        ```

        @You:
        **Tool Result:** `a`

        ```
        one
        two
        ```
        ",
    );
    assert_eq!(found, [(4..5, Some(3)), (6..7, None), (11..13, Some(10))]);
}

#[test]
fn thinking_and_status_blocks_have_a_look_of_their_own() {
    let found = passages(
        "
        @Assistant:
        <thinking>
        **hm**
        </thinking>
        **Tool Use:** `read` (`a`)
        ```json
        {}
        ```
        @You:
        **Tool Result:** `a`
        ```flemma:tool status=pending
        ```
        ",
    );
    assert_eq!(found, [(6..7, Some(5))]);
}

#[test]
fn a_fence_that_is_open_ends_with_its_message() {
    let found = passages(
        "
        @Assistant:
        ```
        open
        @You:
        prose
        ",
    );
    assert_eq!(found, [(2..3, Some(1)), (4..5, None)]);
}

proptest! {
    #[test]
    fn a_passage_is_the_same_from_whatever_line_it_is_seen(text in prop::collection::vec(line(), 0..60)) {
        let document = Document::parse(&text);
        let whole = flemma_chat::regions(&document, 0..text.len());
        let mut end = 0;
        for passage in &whole {
            prop_assert!(passage.fence.unwrap_or(passage.lines.start) >= end);
            end = passage.lines.end;
            prop_assert!(end <= text.len());
            for line in passage.lines.clone() {
                prop_assert_eq!(&flemma_chat::regions(&document, line..line + 1), std::slice::from_ref(passage));
            }
        }
    }
}
