//! Planned edits, on the screen.

use flemma_chat::{
    Language, Position, Severity, Status, StatusBlock, insert_placeholders, open_prompt, set_status, write_result,
};
use flemma_model::{CallId, Part};

use proptest::prelude::*;

use super::{incremental::line, notation::Page};

const TWO_CALLS: &str = "
    @You:
    Look around.

    @Assistant:
    **Tool Use:** `read` (`a`)

    ```json
    {}
    ```

    **Tool Use:** `bash` (`b`)

    ```json
    {}
    ```
    ";

impl Page {
    #[track_caller]
    fn insert_placeholders(&mut self, calls: &[(&str, Status)]) {
        let calls: Vec<_> = calls.iter().map(|(id, status)| (CallId::from(*id), StatusBlock::new(*status))).collect();
        self.apply(insert_placeholders(self.document.calls(), &self.text, &calls));
    }

    #[track_caller]
    fn write_result(&mut self, id: &str, output: &str) {
        self.apply(write_result(self.document.calls(), &self.text, &id.into(), output, false, ""));
    }

    #[track_caller]
    fn fail(&mut self, id: &str, output: &str) {
        self.apply(write_result(self.document.calls(), &self.text, &id.into(), output, true, ""));
    }
}

/// A screen of what follows `TWO_CALLS`.
#[track_caller]
fn answers(page: &Page, expected: &str) {
    let at = page.text.iter().rposition(|line| line == "@You:").unwrap_or(0);
    Page::of(page.text[at..].to_vec()).shows(expected);
}

#[test]
fn placeholders_are_in_a_new_message_in_call_order() {
    let mut page = Page::new(TWO_CALLS);
    page.insert_placeholders(&[("b", Status::Pending), ("a", Status::Approved)]);
    page.shows(&format!(
        "{}\n{}",
        TWO_CALLS.trim_end(),
        "
    @You:
    **Tool Result:** `a`

    ```flemma:tool status=approved
    ```

    **Tool Result:** `b`

    ```flemma:tool status=pending
    ```
    "
    ));
}

#[test]
fn placeholders_go_before_what_the_user_has_begun_to_write() {
    let mut page = Page::new(&format!("{}\n    @You:\n    And then?\n    ", TWO_CALLS.trim_end()));
    page.insert_placeholders(&[("a", Status::Pending)]);
    answers(
        &page,
        "
        @You:
        **Tool Result:** `a`

        ```flemma:tool status=pending
        ```

        And then?
        ",
    );
}

#[test]
fn prose_on_the_marker_line_moves_below_the_results() {
    let mut page = Page::new(&format!("{}\n    @You: And then?\n    ", TWO_CALLS.trim_end()));
    page.write_result("a", "done");
    let at = page.text.iter().rposition(|line| line.starts_with("@You:")).unwrap_or(0);
    assert_eq!(page.text[at..], ["@You: ", "**Tool Result:** `a`", "", "```", "done", "```", "", "And then?"]);
}

#[test]
fn an_early_result_goes_to_its_place() {
    let mut page = Page::new(TWO_CALLS);
    page.write_result("b", "second");
    page.write_result("a", "first\n");
    answers(
        &page,
        "
        @You:
        **Tool Result:** `a`

        ```
        first
        ```

        **Tool Result:** `b`

        ```
        second
        ```
        ",
    );
    assert!(page.document.transcript(&page.text).is_ok());
}

#[test]
fn a_result_replaces_its_placeholder_and_nothing_else() {
    let mut page = Page::new(TWO_CALLS);
    page.insert_placeholders(&[("a", Status::Running), ("b", Status::Rejected)]);
    page.fail("b", "No, thank you.");
    page.write_result("a", "a ``` fence\nand ````");
    answers(
        &page,
        "
        @You:
        **Tool Result:** `a`

        `````
        a ``` fence
        and ````
        `````

        **Tool Result:** `b` (error)

        ```
        No, thank you.
        ```
        ",
    );
}

#[test]
fn empty_output_reads_back_as_empty() {
    let mut page = Page::new(TWO_CALLS);
    page.write_result("a", "");
    page.write_result("b", "\r\n");
    answers(&page, "@You:\n**Tool Result:** `a`\n\n```\n```\n\n**Tool Result:** `b`\n\n```\n```\n");
}

#[test]
fn a_status_changes_by_its_word_alone() {
    let mut page = Page::new(TWO_CALLS);
    page.insert_placeholders(&[("a", Status::Pending)]);
    let fence = page.document.calls().status_line(&"a".into()).unwrap();
    page.replace(
        fence..fence + 1,
        vec!["```flemma:tool  executor=human status=\"pending\" x=\"a b\" expires=never".into()],
    );
    page.apply(set_status(page.document.calls(), &page.text, &"a".into(), Status::Approved));
    assert_eq!(page.text[fence], "```flemma:tool  executor=human status=approved x=\"a b\" expires=never");
    page.replace(fence..fence + 1, vec!["```flemma:tool x=1".into()]);
    page.apply(set_status(page.document.calls(), &page.text, &"a".into(), Status::Running));
    assert_eq!(page.text[fence], "```flemma:tool status=running x=1");
}

#[test]
fn a_header_without_a_fence_gets_one() {
    let mut page = Page::new(&format!("{}\n    @You:\n    **Tool Result:** `a` (error)\n    ", TWO_CALLS.trim_end()));
    page.insert_placeholders(&[("a", Status::Pending)]);
    answers(&page, "@You:\n**Tool Result:** `a` (error)\n\n```flemma:tool status=pending\n```\n");
    page.write_result("a", "fine");
    answers(&page, "@You:\n**Tool Result:** `a`\n\n```\nfine\n```\n");
}

#[test]
fn an_unclosed_placeholder_loses_nothing_when_it_is_settled() {
    let mut page = Page::new(&format!(
        "{}\n    @You:\n    **Tool Result:** `a`\n\n    ```flemma:tool status=pending\n    my words\n    ",
        TWO_CALLS.trim_end()
    ));
    page.write_result("a", "done");
    answers(&page, "@You:\n**Tool Result:** `a`\n\n```\ndone\n```\n\nmy words\n");
}

#[test]
fn an_id_that_a_vendor_uses_again_means_the_open_call() {
    let mut page = Page::new(TWO_CALLS);
    page.write_result("a", "1");
    page.write_result("b", "2");
    let first = page.text.clone();
    page.replace(page.text.len()..page.text.len(), [vec![String::new()], first[3..9].to_vec()].concat());
    page.write_result("a", "third");
    assert_eq!(page.text[..first.len()], first);
    answers(&page, "@You:\n**Tool Result:** `a`\n\n```\nthird\n```\n");
}

#[test]
fn settling_what_is_not_open_does_nothing() {
    let mut page = Page::new(TWO_CALLS);
    page.write_result("a", "1");
    let before = page.text.clone();
    page.write_result("a", "2");
    page.write_result("nobody", "3");
    page.insert_placeholders(&[("a", Status::Pending)]);
    assert_eq!(page.text, before);
}

#[track_caller]
fn prompt(before: &str, after: &str, line: usize) {
    let mut page = Page::new(before);
    let (edits, at) = open_prompt(page.document.messages(), &page.text);
    page.apply(edits);
    page.shows(after);
    assert_eq!(at, Position { line, column: page.text[line].len() });
    // Asking again changes nothing.
    let (edits, again) = open_prompt(page.document.messages(), &page.text);
    assert_eq!((edits, again), (Vec::new(), at));
}

#[test]
fn the_prompt_is_opened_once() {
    prompt("", "@You:\n|\n", 1);
    prompt("@Assistant:\nHi.", "@Assistant:\nHi.\n\n@You:\n|\n", 4);
    prompt("@Assistant:\nHi.\n|\n", "@Assistant:\nHi.\n\n@You:\n|\n", 4);
    prompt("@You:", "@You:\n|\n", 1);
    prompt("@You:\n|\n|\n", "@You:\n|\n|\n", 1);
    prompt("@You:\nHello", "@You:\nHello", 1);
    prompt("```lua\n```", "```lua\n```\n\n@You:\n|\n", 4);
    let answered = "@Assistant:\n**Tool Use:** `a` (`a`)\n\n```\n```\n\n@You:\n**Tool Result:** `a`\n\n```\n```";
    prompt(answered, &format!("{answered}\n|\n|\n"), 12);
    prompt(&format!("{answered}\n|\n"), &format!("{answered}\n|\n|\n"), 12);
}

#[test]
fn a_result_header_without_a_fence_stays_with_its_own_call() {
    for blank in ["", "\n"] {
        let mut page =
            Page::new(&format!("{}\n    @You:\n    **Tool Result:** `a`{blank}\n    ", TWO_CALLS.trim_end()));
        page.insert_placeholders(&[("a", Status::Pending), ("b", Status::Pending)]);
        let ids: Vec<_> = page.document.calls().placeholders().map(|(id, _, _)| id.0.clone()).collect();
        assert_eq!(ids, ["a", "b"], "{:#?}", page.text);
    }
}

/// Whether `lines` can be had from `text` by leaving lines out.
fn holds(text: &[String], lines: &[String]) -> bool {
    let mut rest = text.iter();
    lines.iter().all(|line| rest.any(|other| other == line))
}

#[test]
fn the_language_of_a_result_is_not_sent_to_the_model() {
    let outputs = ["plain", "@@ -1 +1 @@\n-a\n+b", "```diff\n-a\n```", "{\"a\":1}", "@You:\n\\@You:", "````", ""];
    for (language, info) in [(Language::Plain, ""), (Language::Json, "json"), (Language::Diff, "diff")] {
        for output in outputs {
            let mut page = Page::new("@You:\nx\n\n@Assistant:\n**Tool Use:** `x` (`a`)\n\n```json\n{}\n```");
            let id: CallId = "a".into();
            let waiting = [(id.clone(), StatusBlock::new(Status::Running))];
            page.apply(insert_placeholders(page.document.calls(), &page.text, &waiting));
            page.apply(write_result(page.document.calls(), &page.text, &id, output, false, language.info()));
            let fence =
                page.text.iter().rposition(|line| line.trim_start_matches('`') == info && line.starts_with("```"));
            assert!(fence.is_some(), "{:#?}", page.text);
            let conversation = page.document.transcript(&page.text).unwrap();
            let parts = &conversation.messages.last().unwrap().parts;
            let sent = parts.iter().find_map(|part| match part {
                Part::ToolResult { output, .. } => Some(&**output),
                _ => None,
            });
            assert_eq!(sent, Some(output), "{info}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn plans_do_what_they_say_on_any_document(
        before in prop::collection::vec(line(), 0..12),
        after in prop::collection::vec(line(), 0..16),
        pick: prop::sample::Index,
        output in "[a`\n]{0,8}",
        is_error: bool,
        language in prop::sample::select(vec![Language::Plain, Language::Json, Language::Diff]),
    ) {
        // Two calls in the middle of anything.
        let mut text = before;
        text.extend(["@Assistant:", "**Tool Use:** `x` (`a`)", "```json", "{}", "```"].map(str::to_owned));
        text.extend(["**Tool Use:** `x` (`b`)", "```json", "{}", "```"].map(str::to_owned));
        text.extend(after);
        let mut page = Page::of(text);
        let open: Vec<CallId> = page.document.calls().open(&page.text).into_iter().map(|call| call.id).collect();
        let calls: Vec<_> = open.iter().map(|id| (id.clone(), StatusBlock::new(Status::Pending))).collect();

        let old = page.text.clone();
        let sound = flemma_chat::diagnostics(&page.document, &page.text).iter().all(|found| found.severity < Severity::Error);
        let planned = insert_placeholders(page.document.calls(), &page.text, &calls);
        prop_assert!(planned.iter().all(|edit| edit.start == edit.end), "placing only inserts");
        page.apply(planned);
        let inline = old.iter().any(|line| line.starts_with("@You: "));
        prop_assert!(inline || holds(&page.text, &old));
        let still = page.document.calls().open(&page.text);
        prop_assert!(!sound || still.iter().all(|call| call.placeholder.is_some()));
        let still: Vec<CallId> = still.into_iter().map(|call| call.id).collect();
        prop_assert_eq!(&still, &open, "placing opens and closes nothing");

        if !open.is_empty() {
            let id = pick.get(&open).clone();
            // By their lines: a result that closes a fence may bring to light another call of the same id behind it.
            let open_at = |page: &Page| -> Vec<usize> {
                let calls = page.document.calls().open(&page.text);
                calls.iter().filter(|call| call.id == id).map(|call| call.line).collect()
            };
            let before = open_at(&page);
            let planned = write_result(page.document.calls(), &page.text, &id, &output, is_error, language.info());
            let is_planned = !planned.is_empty();
            page.apply(planned);
            let left = open_at(&page).iter().filter(|line| before.contains(line)).count();
            prop_assert!(!is_planned || left < before.len(), "{:#?}", page.text);
        }
        let old = page.text.clone();
        let (edits, at) = open_prompt(page.document.messages(), &page.text);
        page.apply(edits);
        prop_assert!(page.text.starts_with(&old) || old == [""] || old.is_empty());
        prop_assert!(at.line < page.text.len() && at.column <= page.text[at.line].len());
    }
}
