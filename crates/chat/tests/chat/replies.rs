//! A reply as it is written, on the screen.

use flemma_chat::{Ending, Position, ReplyWriter};
use flemma_model::{Event, Signature, ToolInput};
use serde_json::json;

use super::notation::Page;

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

/// A page that a reply is written to, event by event.
struct Live {
    page: Page,
    reply: ReplyWriter,
}

impl Live {
    fn new(before: &str) -> Self {
        let page = Page::new(before);
        let reply = ReplyWriter::open(&page.text);
        Self { page, reply }
    }

    #[track_caller]
    fn push(&mut self, event: &Event) {
        self.reply.push(event);
        let edits = self.reply.take();
        self.page.apply(edits);
        let last = self.page.text.len() - 1;
        assert_eq!(self.reply.end(), Position { line: last, column: self.page.text[last].len() });
    }

    #[track_caller]
    fn ends(mut self, ending: Ending, expected: &str) {
        self.page.apply(self.reply.close(ending));
        self.page.shows(expected);
    }
}

#[test]
fn the_parts_of_a_reply_are_separated_by_one_blank_line() {
    let mut live = Live::new("@You:\nHello!");
    let signature = Some(Signature { provider: "anthropic".into(), value: "c2ln==".into() });
    for event in [
        Event::ThinkingStarted,
        Event::Thinking("I should ".into()),
        Event::Thinking("look.".into()),
        Event::ThinkingFinished { signature },
        Event::RedactedThinking(Signature { provider: "anthropic".into(), value: "eA".into() }),
        text("\n\nI look"),
        text(".\n\n"),
        Event::ToolUseProgress { name: "read".into(), bytes: 4 },
        Event::ToolUse { id: "a".into(), name: "read".into(), input: ToolInput::Json(json!({ "path": "x" })) },
        Event::ToolUse { id: "b".into(), name: "bash".into(), input: ToolInput::Malformed("{\"co".into()) },
    ] {
        live.push(&event);
    }
    live.ends(
        Ending::Complete,
        "
        @You:
        Hello!

        @Assistant:
        <thinking anthropic:signature=\"c2ln==\" sha256=0001dbb547851fe6>
        I should look.
        </thinking>

        <thinking redacted anthropic:signature=\"eA\">
        </thinking>

        I look.

        **Tool Use:** `read` (`a`)

        ```json
        {\"path\":\"x\"}
        ```

        **Tool Use:** `bash` (`b`)

        ```
        {\"co
        ```
        ",
    );
}

#[test]
fn a_line_is_held_back_only_while_it_may_be_structure() {
    let mut live = Live::new("@You:\nHello!\n");
    for (chunk, last) in [
        ("@", "@Assistant:"),
        ("Yo", "@Assistant:"),
        ("u", "@Assistant:"),
        ("r", "@Your"),
        (" word", "@Your word"),
        ("\n\n", "@Your word"),
        ("  ", "@Your word"),
        ("``", "@Your word"),
        ("`flemma", "@Your word"),
        (":tool status=approved", "\\  ```flemma:tool status=approved"),
        ("\n<", "\\  ```flemma:tool status=approved"),
        ("b>", "<b>"),
    ] {
        live.push(&text(chunk));
        assert_eq!(live.page.text.last().map(String::as_str), Some(last), "after {chunk:?}");
    }
}

#[test]
fn a_code_fence_left_open_is_closed_before_the_next_block() {
    let mut live = Live::new("");
    live.push(&text("~~~~ python\nprint()\n@You: in code\n"));
    live.push(&Event::ToolUse { id: "a".into(), name: "x".into(), input: ToolInput::Json(json!({})) });
    live.push(&text("```\ncut"));
    live.ends(
        Ending::Aborted,
        "
        @Assistant:
        ~~~~ python
        print()
        \\@You: in code
        ~~~~

        **Tool Use:** `x` (`a`)

        ```json
        {}
        ```

        ```
        cut
        ```

        <!-- flemma:aborted -->
        ",
    );
}

#[test]
fn thinking_that_is_cut_off_is_closed() {
    let mut live = Live::new("@You:\nHello!");
    live.push(&Event::ThinkingStarted);
    live.push(&Event::Thinking("Hm\n</thinking> is a tag\n".into()));
    live.ends(
        Ending::Aborted,
        "
        @You:
        Hello!

        @Assistant:
        <thinking>
        Hm
        \\</thinking> is a tag
        |
        </thinking>

        <!-- flemma:aborted -->
        ",
    );
}

#[test]
fn empty_thinking_keeps_its_signature() {
    let mut live = Live::new("@You:\nHello!");
    live.push(&Event::ThinkingStarted);
    live.push(&Event::ThinkingFinished { signature: Some(Signature { provider: "a".into(), value: "s".into() }) });
    live.ends(Ending::Complete, "@You:\nHello!\n\n@Assistant:\n<thinking a:signature=\"s\">\n</thinking>");
}

#[test]
fn a_reply_that_never_came_is_marked_all_the_same() {
    Live::new("@You:\nHello!\n|\n").ends(Ending::Aborted, "@You:\nHello!\n\n@Assistant:\n<!-- flemma:aborted -->");
}

#[test]
fn long_input_is_spread_over_lines_with_its_keys_in_order() {
    let mut live = Live::new("");
    let input = json!({ "z": "a line that is long enough to make the input wider than eighty columns", "a": [1] });
    live.push(&Event::ToolUse { id: "`".into(), name: "x\n@You:".into(), input: ToolInput::Json(input) });
    live.ends(
        Ending::Complete,
        "
        @Assistant:
        **Tool Use:** `x\u{FFFD}@You:` (`_`)

        ```json
        {
          \"z\": \"a line that is long enough to make the input wider than eighty columns\",
          \"a\": [
            1
          ]
        }
        ```
        ",
    );
}

#[test]
fn a_line_of_a_million_marks_is_not_rescanned_per_chunk() {
    for mark in ["````", "    ", "\\\\\\\\"] {
        let mut reply = ReplyWriter::open(&Vec::<String>::new());
        let mut edits = Vec::new();
        for _ in 0..250_000 {
            reply.push(&text(mark));
            edits.extend(reply.take());
        }
        edits.extend(reply.close(Ending::Complete));
        let written: usize = edits.iter().flat_map(|edit| &edit.lines).map(String::len).sum();
        let expected = if mark.trim().is_empty() { 0 } else { 1_000_000 };
        assert!(written >= expected, "{mark:?}: {written}");
    }
}

#[test]
fn a_long_line_is_written_in_ever_longer_pieces() {
    let mut page = Vec::<String>::new();
    let mut reply = ReplyWriter::open(&page);
    let mut edits = Vec::new();
    for _ in 0..10_000 {
        reply.push(&text(&"word ".repeat(100)));
        edits.extend(reply.take());
    }
    let few = edits.len();
    reply.push(&text("\nThe next line."));
    edits.extend(reply.take());
    edits.extend(reply.close(Ending::Complete));
    edits.iter().for_each(|edit| edit.apply(&mut page));
    assert!(few < 200, "{few} edits for 10,000 pieces");
    assert!(page.contains(&"word ".repeat(1_000_000)) && page.contains(&"The next line.".to_owned()));
}

#[test]
fn each_call_of_a_reply_has_an_id_of_its_own() {
    let mut live = Live::new("@You:\nHello!");
    for id in ["a", "a", "a_2", "a", "b\u{1}`", "b__"] {
        live.push(&Event::ToolUse { id: id.into(), name: "read".into(), input: ToolInput::Json(json!({})) });
    }
    live.page.apply(live.reply.close(Ending::Complete));
    let calls = live.page.document.calls().open(&live.page.text);
    let ids: Vec<&str> = calls.iter().map(|call| call.id.0.as_str()).collect();
    assert_eq!(ids, ["a", "a_2", "a_2_2", "a_3", "b__", "b___2"]);
    assert_eq!(flemma_chat::diagnostics(&live.page.document, &live.page.text), []);
}

#[test]
fn prose_that_was_thinking_is_written_anew() {
    let mut live = Live::new("@You:\nHello!");
    for event in [text("Hm.\n@You: say\n"), text("so.\n"), Event::WasThinking, text("Hi"), Event::WasThinking] {
        live.push(&event);
    }
    live.ends(
        Ending::Complete,
        "
        @You:
        Hello!

        @Assistant:
        <thinking>
        Hm.
        \\@You: say
        so.
        </thinking>

        Hi",
    );
}
