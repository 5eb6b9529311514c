//! An update gives the document that a full parse gives, whatever changes.

use flemma_chat::{Change, Document};
use proptest::prelude::*;

use super::notation::{Page, screen};

/// Lines rich in structure.
pub fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        4 => prop::sample::select(vec![
            "@You:", "@Assistant:", "@System:", "@You: hi", "@Assistant: ```rust", "@You: **Tool Result:** `a`",
            "@Assistant:\r",
        ]).prop_map(str::to_owned),
        8 => prop::sample::select(vec![
            "**Tool Use:** `bash` (`a`)", "**Tool Use:** `read` (`b`)", "**Tool Use:** `x` (`h`) (provider)",
            "**Tool Result:** `a`", "**Tool Result:** `b` (error)", "**Tool Result:** `h` (provider)",
            "**Tool Use:** broken", "**Tool Result:** ",
        ]).prop_map(str::to_owned),
        8 => prop::sample::select(vec![
            "```", "````", "~~~", "```json", "  ```", "```lua", "```flemma:tool status=pending",
            "```flemma:tool status=approved x=\"1\"",  "```flemma:attachment path=x",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec![
            "<thinking>", "</thinking>", "<thinking redacted a:signature=\"x\">", "<!-- flemma:aborted -->",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec!["text", "{}", " ", "\\@You:", "é\u{FFFD}", "*", "<", "@", "`", "\r"])
            .prop_map(str::to_owned),
    ]
}

#[derive(Clone, Debug)]
struct Step {
    at: prop::sample::Index,
    remove: usize,
    insert: Vec<String>,
}

fn step() -> impl Strategy<Value = Step> {
    (any::<prop::sample::Index>(), 0_usize..4, prop::collection::vec(line(), 0..4))
        .prop_map(|(at, remove, insert)| Step { at, remove, insert })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_edit_equals_a_full_parse(
        text in prop::collection::vec(line(), 0..40),
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let mut page = Page::of(text);
        for Step { at, remove, insert } in steps {
            let first = at.index(page.text.len() + 1);
            let last = (first + remove).min(page.text.len());
            // Fill what is kept between updates, so that staleness would show.
            let _ = page.document.calls().placeholders().count();
            let _ = page.document.calls().open(&page.text);
            let _ = page.document.transcript(&page.text);
            page.replace(first..last, insert);
            let mut fresh = Document::parse(&page.text);
            prop_assert_eq!(&page.document, &fresh);
            prop_assert_eq!(page.document.calls().open(&page.text), fresh.calls().open(&page.text));
            prop_assert!(page.document.calls().placeholders().eq(fresh.calls().placeholders()));
            prop_assert_eq!(page.document.transcript(&page.text), fresh.transcript(&page.text));
        }
    }

    #[test]
    fn slices_equal_a_full_parse(text in prop::collection::vec(line(), 0..60), size in 1_usize..9) {
        let mut document = Document::default();
        let mut done = 0;
        while done < text.len() {
            let next = (done + size).min(text.len());
            document.update(Change { first: done, old_last: done, new_last: next }, &text);
            done = next;
        }
        prop_assert_eq!(document, Document::parse(&text));
    }

    #[test]
    fn every_line_after_a_marker_belongs_to_one_block(text in prop::collection::vec(line(), 0..60)) {
        let document = Document::parse(&text);
        let mut next = document.messages().first().map_or(text.len(), |message| message.start);
        for message in document.messages() {
            prop_assert_eq!(message.start, next);
            let mut line = message.start + usize::from(message.blocks.first().is_none_or(|block| block.offset > 0));
            for block in &message.blocks {
                prop_assert_eq!(message.lines_of(block).start, line);
                prop_assert!(block.lines > 0);
                line = message.lines_of(block).end;
            }
            next = message.range().end;
            prop_assert_eq!(line, next);
        }
        prop_assert_eq!(next, text.len());
    }

    #[test]
    fn nothing_makes_a_query_panic(text in prop::collection::vec(line(), 0..40), wild in ".{0,40}") {
        let mut text = text;
        text.push(wild);
        let mut document = Document::parse(&text);
        let _ = flemma_chat::diagnostics(&document, &text);
        let _ = document.transcript(&text);
        for line in 0..text.len() + 2 {
            let _ = document.calls().at(line);
            let _ = document.block_at(line);
        }
        let whole = flemma_chat::decorations(&document, 0..text.len());
        let mut pieces = Vec::new();
        for line in 0..text.len() {
            pieces.extend(flemma_chat::decorations(&document, line..line + 1));
        }
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn a_change_that_was_told_wrong_does_no_harm(
        text in prop::collection::vec(line(), 0..20),
        first in 0_usize..30, old in 0_usize..30, new in 0_usize..30,
    ) {
        let mut document = Document::parse(&text);
        document.update(Change { first, old_last: old, new_last: new }, &text);
        let _ = flemma_chat::diagnostics(&document, &text);
        let _ = document.calls().open(&text);
        let _ = flemma_chat::decorations(&document, 0..100);
        let _ = document.transcript(&text);
    }
}

#[test]
fn a_keystroke_in_prose_reads_one_line() {
    let mut page = Page::new("@You:\na\nb\nc\nd\n\n@Assistant:\ne");
    page.text[3].push('x');
    let update = page.document.update(Change { first: 3, old_last: 4, new_last: 4 }, &page.text);
    assert_eq!(update.lines, 3..4);
    assert!(!update.tools);
}

#[test]
fn a_change_in_a_tool_block_is_told() {
    let mut page = Page::new(
        "
        @Assistant:
        **Tool Use:** `bash` (`a`)

        ```json
        {}
        ```
        bye
        ",
    );
    page.text[4] = "{\"x\":1}".to_owned();
    let update = page.document.update(Change { first: 4, old_last: 5, new_last: 5 }, &page.text);
    assert!(update.tools);
    assert_eq!(update.lines, 4..5);
    page.text[6].push('!');
    let update = page.document.update(Change { first: 6, old_last: 7, new_last: 7 }, &page.text);
    // The line before is the block's end, so that it is looked at, and found unchanged.
    assert_eq!(update.lines, 6..7);
    page.check();
}

#[test]
fn documents_of_nothing_and_of_frontmatter_only_are_documents() {
    assert_eq!(Document::parse(&Vec::<String>::new()).line_count(), 0);
    let page = Page::of(screen("```lua\nx = 1\n```"));
    let matter = page.document.frontmatter().unwrap();
    assert_eq!((matter.language.as_str(), matter.lines, matter.closed), ("lua", 3, true));
    assert!(page.document.messages().is_empty());
    assert!(flemma_chat::diagnostics(&page.document, &page.text).is_empty());
}
