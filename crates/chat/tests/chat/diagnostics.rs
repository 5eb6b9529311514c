//! What the user is told is wrong.

use flemma_chat::Severity::{self, Error, Warning};

use super::notation::Page;

/// The diagnostics of a screen: line, severity, and a part of the message.
#[track_caller]
fn says(text: &str, expected: &[(usize, Severity, &str)]) {
    let page = Page::new(text);
    let found = flemma_chat::diagnostics(&page.document, &page.text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, (line, severity, part)) in found.iter().zip(expected) {
        assert_eq!((found.line, found.severity), (*line, *severity), "{found:?}");
        assert!(found.message.contains(part), "{found:?}");
        // Marks between marks cannot be told apart.
        assert!(!found.message.contains("``") && !found.message.contains("~~"), "{found:?}");
    }
}

const CALL: &str = "@Assistant:\n**Tool Use:** `read` (`a`)\n\n```json\n{}\n```\n\n";

#[test]
fn a_sound_conversation_has_none() {
    says(&format!("{CALL}@You:\n**Tool Result:** `a`\n\n```\n```\n"), &[]);
    says("", &[]);
    says(&format!("{CALL}@You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n"), &[]);
}

#[test]
fn what_is_not_closed_is_told_with_what_closes_it() {
    says("```lua\nx = 1\n@You:\nhi", &[(0, Error, "Close it with a line of 3 backticks before")]);
    says("@You:\n~~~~\ncode", &[(1, Warning, "Close it with a line of 4 tildes.")]);
    says("@Assistant:\n<thinking>\n@You:\nhi", &[(1, Error, "`</thinking>`")]);
    says(
        "@Assistant:\n**Tool Use:** `read` (`a`)\n\n````json\n{}\n@You:",
        &[(3, Error, "Close it with a line of 4 backticks.")],
    );
    says(&format!("{CALL}@You:\n**Tool Result:** `a`\n\n```\nx"), &[(10, Error, "result of the call `a`")]);
}

#[test]
fn text_before_the_first_message_would_be_lost() {
    says("\n\nhello\n@You:\nhi", &[(1, Error, "`@You:`")]);
    says("just text", &[(0, Error, "`@You:`")]);
    let mut far = vec![String::new(); 1000];
    far.push("here".into());
    let page = Page::of(far);
    assert_eq!(flemma_chat::diagnostics(&page.document, &page.text)[0].line, 1000);
}

#[test]
fn calls_and_results_that_do_not_pair_are_told() {
    says("@Assistant:\n**Tool Use:** `read` (`a`)\nno fence", &[(1, Error, "`json` fence")]);
    says(
        "@You:\n**Tool Result:** `a`\n\n```\n```\n",
        &[(1, Error, "Delete this result: the reply above has no call `a`")],
    );
    says(&format!("{CALL}{}", &CALL[12..]), &[(7, Error, "also has the id `a`")]);
    let result = "**Tool Result:** `a`\n\n```\n```\n";
    says(&format!("{CALL}@You:\n{result}\n@You:\n{result}"), &[(14, Error, "already has a result")]);
    says(&format!("{CALL}@You:\n**Tool Result:** `a`\n"), &[(8, Warning, "no fence")]);
}

#[test]
fn an_id_that_no_result_could_name_is_an_error() {
    for id in ["`a\u{1}b`", "`a\u{85}`", "``a`b``"] {
        let page = Page::new(&CALL.replace("`a`", id));
        let found = flemma_chat::diagnostics(&page.document, &page.text);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].line, found[0].severity), (1, Error));
        assert!(found[0].message.contains("Write another id in the header of the call"), "{found:?}");
    }
    says(
        "@You:\n**Tool Result:** `a\u{1}b`\n\n```\n```\n",
        &[(1, Error, "control character"), (1, Error, "Delete this")],
    );
}

#[test]
fn headers_that_cannot_be_are_told_with_the_way_out() {
    says("@You:\n**Tool Use:** `a` (`b`)", &[(1, Error, "backslash")]);
    says("@Assistant:\n**Tool Result:** `b`", &[(1, Error, "@You:")]);
    says("@You:\n**Tool Result:** `b` (provider)", &[(1, Error, "@Assistant:")]);
    says("@Assistant:\n**Tool Use:** read", &[(1, Error, "`name` (`id`)")]);
    says("@You:\n**Tool Result:** b", &[(1, Error, "`id`")]);
    says("@You:\n\\**Tool Use:** `a` (`b`)\n```\n**Tool Use:** in code\n```", &[]);
    says("@You:\n```flemma:tool status=approved\n```", &[(1, Error, "header")]);
}

#[test]
fn a_status_that_nobody_knows_is_told_with_the_nearest() {
    let with = |info: &str| format!("{CALL}@You:\n**Tool Result:** `a`\n\n```{info}\n```\n");
    says(&with("flemma:tool status=aproved"), &[(10, Error, "Did you mean `approved`?")]);
    says(&with("flemma:tool status=whatever"), &[(10, Error, "`rejected`, `running`")]);
    says(&with("flemma:tool status=pending loose x=\"open"), &[(10, Warning, "`loose`"), (10, Warning, "`x=\"open`")]);
    says(&with("flemma:later"), &[(10, Error, "`flemma:later`")]);
}

/// The model's own mistake has a result already. Such a call waits, so the user has edited it.
#[test]
fn a_typo_in_the_input_of_a_waiting_call_is_told_at_its_line() {
    let with = |input: &str, rest: &str| format!("{}{rest}", CALL.replace("{}", input));
    let waits = "@You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";
    says(
        &with("{\n  \"path\": \"x\"\n  \"limit\": 1\n}", waits),
        &[(6, Error, "`a` is not valid JSON: expected `,` or `}`, column 3")],
    );
    says(&with("{\"path\": \"x\"", waits), &[(4, Error, "EOF while parsing an object, column 12")]);
    says(&with("{\"path\": \"x\"", "@You:\n**Tool Result:** `a` (error)\n\n```\n```\n"), &[]);
    says(&with("{\"path\": \"x\"", ""), &[]);
    says(&with("[1]", waits).replace("json", ""), &[(4, Error, "expected a map, column ")]);
}

#[test]
fn carriage_returns_are_told_once_and_read_past() {
    says("@You:\r\nhi\r\n\r\n@Assistant:\r\nho\r\n", &[(0, Warning, "carriage return")]);
}
