//! Which calls are open, and what stands where.

use flemma_chat::{Decoration, LineKind, Speaker, Status};
use flemma_model::ToolInput;
use serde_json::json;

use super::notation::Page;

const TURN: &str = "
    @You:
    Hello!

    @Assistant:
    <thinking>
    @You: never here
    </thinking>
    **Tool Use:** `web_search` (`h`) (provider)

    ```json
    {}
    ```

    **Tool Result:** `h` (provider)

    ```json
    []
    ```

    **Tool Use:** `read` (`a`)

    ```json
    {\"path\":\"x\"}
    ```

    **Tool Use:** `bash` (`b`)

    ```
    {\"command
    ```

    @You:
    **Tool Result:** `b`

    ```flemma:tool status=rejected expires=\"soon\"
    Not on
    my machine.
    ```
    ";

#[test]
fn open_calls_come_in_order_with_what_the_user_wrote() {
    let page = Page::new(TURN);
    let calls = page.document.calls().open(&page.text);
    let ids: Vec<_> = calls.iter().map(|call| call.id.0.as_str()).collect();
    assert_eq!(ids, ["a", "b"], "the provider's own call is not ours to run");
    assert_eq!((calls[0].name.as_str(), calls[0].line), ("read", 19));
    assert_eq!(*calls[0].input, ToolInput::Json(json!({ "path": "x" })));
    assert_eq!(calls[0].placeholder, None);
    assert_eq!(*calls[1].input, ToolInput::Malformed("{\"command".into()));
    let placeholder = calls[1].placeholder.clone().unwrap();
    assert_eq!((placeholder.line, placeholder.fence), (32, 34));
    assert_eq!(placeholder.block.status, Status::Rejected);
    assert_eq!(placeholder.block.get("expires"), Some("soon"));
    assert_eq!(placeholder.content, "Not on\nmy machine.");
}

#[test]
fn a_block_with_white_space_only_is_empty() {
    let mut page = Page::new(TURN);
    page.replace(35..37, vec!["  ".into(), String::new()]);
    assert_eq!(page.document.calls().open(&page.text)[1].placeholder.as_ref().unwrap().content, "");
}

#[test]
fn the_calls_of_an_aborted_reply_say_so() {
    let mut page = Page::new(TURN);
    page.replace(30..30, vec![String::new(), "<!-- flemma:aborted -->".into()]);
    assert!(page.document.calls().open(&page.text).iter().all(|call| call.aborted));
}

#[test]
fn the_cursor_finds_the_call_from_its_use_and_from_its_result() {
    let page = Page::new(TURN);
    for line in [25, 28, 29, 32, 33, 34, 36, 37] {
        assert_eq!(page.document.calls().at(line), Some(&"b".into()), "line {line}");
    }
    for line in [0, 1, 3, 4, 8, 14, 24, 31, 99] {
        assert_eq!(page.document.calls().at(line), None, "line {line}");
    }
}

#[test]
fn an_answered_call_is_not_open_and_an_old_id_may_come_again() {
    let turn =
        "@Assistant:\n**Tool Use:** `read` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n```\nx\n```\n";
    let page = Page::new(&format!("{turn}\n{turn}"));
    assert_eq!(page.document.calls().open(&page.text), []);
    let page = Page::new(&format!("{turn}\n{}", turn.split("@You:").next().unwrap()));
    let open = page.document.calls().open(&page.text);
    assert_eq!(open.iter().map(|call| call.line).collect::<Vec<_>>(), [15]);
}

#[test]
fn every_line_that_is_structure_is_decorated() {
    let page = Page::new(TURN);
    let expected = [
        (0, LineKind::Marker(Speaker::You)),
        (3, LineKind::Marker(Speaker::Assistant)),
        (4, LineKind::Thinking),
        (5, LineKind::Thinking),
        (6, LineKind::Thinking),
        (7, LineKind::ToolUse),
        (13, LineKind::ToolResult { is_error: false }),
        (19, LineKind::ToolUse),
        (25, LineKind::ToolUse),
        (31, LineKind::Marker(Speaker::You)),
        (32, LineKind::ToolResult { is_error: false }),
        (34, LineKind::Status),
    ];
    let expected: Vec<_> = expected.map(|(line, kind)| Decoration { line, kind }).to_vec();
    assert_eq!(flemma_chat::decorations(&page.document, 0..100), expected);
    assert_eq!(flemma_chat::decorations(&page.document, 5..8), expected[3..6]);
}

#[test]
fn placeholders_tell_their_lines() {
    let page = Page::new(TURN);
    let found: Vec<_> = page.document.calls().placeholders().map(|(id, _, lines)| (id.0.as_str(), lines)).collect();
    assert_eq!(found, [("b", 32..38)]);
}
