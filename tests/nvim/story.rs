//! The main use of the plugin, key by key.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, KEY, Setup, call, decision_keys, previews, prose, reply, spinner},
    http::{Gate, Reply},
};

const STORY: &str = "\
@You:
Fix the greeting

@Assistant:
I look at the file first.

**Tool Use:** `read` (`toolu_read`)

```json
{\"label\":\"looking\",\"path\":\"greet.txt\",\"offset\":null,\"limit\":null}
```

@You:
**Tool Result:** `toolu_read`

```
Helo
```

@Assistant:
A letter is missing.

**Tool Use:** `edit` (`toolu_edit`)

```json
{\"label\":\"the letter\",\"path\":\"greet.txt\",\"old_text\":\"Helo\",\"new_text\":\"Hello\"}
```

**Tool Use:** `bash` (`toolu_bash`)

```json
{\"label\":\"checking\",\"command\":\"cat greet.txt\",\"timeout\":null}
```
";

fn story() -> [Reply; 3] {
    [
        reply(
            &Stream::new()
                .text(&["I look at ", "the file first."])
                .tool_use(
                    "toolu_read",
                    "read",
                    &["{\"label\":\"looking\",\"path\":\"gre", "et.txt\",\"offset\":null,\"limit\":null}"],
                )
                .end("tool_use"),
        ),
        reply(
            &Stream::new()
                .text(&["A letter is missing."])
                .tool_use(
                    "toolu_edit",
                    "edit",
                    &[&json!({"label": "the letter", "path": "greet.txt", "old_text": "Helo", "new_text": "Hello"})
                        .to_string()],
                )
                .tool_use(
                    "toolu_bash",
                    "bash",
                    &[&json!({"label": "checking", "command": "cat greet.txt", "timeout": null}).to_string()],
                )
                .end("tool_use"),
        ),
        prose(&["It says ", "Hello now."]),
    ]
}

#[test]
fn a_conversation_reads_edits_asks_runs_and_carries_on() {
    let setup = Setup { text: None, files: &[("greet.txt", "Helo\n")], ..Setup::default() };
    let mut chat = Chat::start(&setup, story());

    // A new file has its prompt, and the cursor stands under it.
    assert_eq!(chat.nvim.lines(0), ["@You:", ""]);
    assert_eq!(chat.nvim.cursor(), (2, 0));
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false);

    chat.nvim.input("i");
    chat.nvim.type_text("Fix the greeting");
    chat.nvim.input("<C-]>");

    // The read and the edit ran by themselves; the command waits, with a preview of what it will do.
    chat.nvim.wait_for("the preview", |nvim| !decision_keys(nvim).is_empty());
    chat.wait_until_idle();
    let text = chat.nvim.text();
    assert!(text.starts_with(STORY), "{text}");
    let rest = &text[STORY.len()..];
    assert!(rest.starts_with("\n@You:\n**Tool Result:** `toolu_edit`\n\n```diff\nEdited greet.txt"), "{rest}");
    assert!(rest.ends_with("\n**Tool Result:** `toolu_bash`\n\n```flemma:tool status=pending\n```\n"), "{rest}");
    assert_eq!(chat.nvim.file("greet.txt"), "Hello\n");
    let card = chat.nvim.lines(0).len() as u64 - 3;
    // The card says all of it.
    assert_eq!(previews(&mut chat.nvim), []);
    chat.nvim.wait_for_screen("bash cat greet.txt  checking");
    chat.nvim.wait_for_screen("gA approve  gX reject  gY always");
    assert_eq!(chat.nvim.cursor(), (card, 0), "the cursor is on the call that waits");
    assert_eq!(chat.nvim.mode(), "n");

    // Alt-Enter runs it, and autopilot continues until the model is done.
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("It says Hello now."));
    chat.wait_until_idle();
    let text = chat.nvim.text();
    assert!(
        text.ends_with(
            "**Tool Result:** `toolu_bash`\n\n```\nHello\n```\n\n@Assistant:\nIt says Hello now.\n\n@You:\n\n"
        ),
        "{text}"
    );
    assert_eq!(previews(&mut chat.nvim), []);
    let last = chat.nvim.lines(0).len() as u64;
    assert_eq!(chat.nvim.cursor(), (last, 0), "the cursor is where the next message begins");

    // The requests that the provider received.
    let requests = chat.server.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
        assert_eq!(request.header("x-api-key"), Some(KEY));
        let body = request.json();
        assert_eq!(body["model"], "claude-test");
        assert_eq!(body["stream"], true);
        let tools: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(tools, ["ask_user", "bash", "calculator", "edit", "find", "grep", "ls", "read", "write"]);
    }
    assert_eq!(requests[0].json()["messages"][0]["role"], "user");
    let third = requests[2].json()["messages"].clone();
    assert_eq!(third.as_array().unwrap().len(), 5);
    assert_eq!(third[3]["content"][1]["id"], "toolu_edit");
    assert_eq!(
        third[3]["content"][2]["input"],
        json!({"label": "checking", "command": "cat greet.txt", "timeout": null})
    );
    assert_eq!(third[4]["content"][0]["tool_use_id"], "toolu_edit");
    assert_eq!(third[4]["content"][1]["tool_use_id"], "toolu_bash");
    let result = third[4]["content"][1]["content"].to_string();
    assert!(result.contains("Hello"), "{result}");

    // The key is nowhere but in the header.
    assert!(!chat.nvim.text().contains(KEY));
    assert!(!chat.nvim.messages().contains(KEY));
}

#[test]
fn a_reply_locks_the_buffer_and_shows_a_spinner() {
    let (first, rest) = (Gate::new(), Gate::new());
    let events = Stream::new().text(&["one ", "two"]).end("end_turn");
    let events = events.events();
    let held = events.iter().enumerate().fold(Reply::stream().hold(&first), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == 2 { reply.hold(&rest) } else { reply }
    });
    let mut chat = Chat::start(&Setup::default(), [held]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("waiting for anthropic (claude-test)");
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false);
    assert_eq!(chat.nvim.text(), "@You:\nHello\n", "nothing is written before the reply begins");

    first.open();
    chat.wait_for_text("@You:\nHello\n\n@Assistant:\none \n");
    chat.nvim.wait_for_screen("writing");
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false);
    // Keys that would change text change nothing.
    chat.nvim.input("ggdd");
    assert!(chat.nvim.text().starts_with("@You:\nHello\n"));

    rest.open();
    chat.wait_for_text("@You:\nHello\n\n@Assistant:\none two\n\n@You:\n\n");
    chat.wait_until_idle();
    assert_eq!(spinner(&mut chat.nvim), []);
}

#[test]
fn a_spinner_covers_no_text_where_there_is_no_card() {
    let input = json!({ "label": null, "command": "sleep 60", "timeout": null });
    let setup = Setup { options: "looks = { enabled = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input)]);
    chat.send_until("status=pending");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the spinner", |nvim| {
        let rows = nvim.screen();
        let mut ends = rows.iter().filter_map(|row| row.strip_prefix("**Tool Result:** `toolu_1`"));
        ends.any(|end| end.trim().chars().all(|sign| ('⠀'..='⣿').contains(&sign)) && !end.trim().is_empty())
    });
}

#[test]
fn one_undo_removes_a_reply_and_redo_restores_it() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["one\n", "two\n\n", "three ", "four"])]);
    chat.nvim.input("<C-]>");
    let whole = "@You:\nHello\n\n@Assistant:\none\ntwo\n\nthree four\n\n@You:\n\n";
    chat.wait_for_text(whole);
    chat.wait_until_idle();
    chat.nvim.input("u");
    chat.wait_for_text("@You:\nHello\n");
    chat.nvim.input("<C-r>");
    chat.wait_for_text(whole);
}

#[test]
fn ctrl_c_kills_a_tool_and_gives_every_call_a_result() {
    let input = json!({"label": "slow", "command": "echo started; sleep 300 & echo $! > pid; wait", "timeout": null});
    let mut chat = Chat::start(
        &Setup { options: "tools = { auto_approve = { 'bash' } }", ..Setup::default() },
        [super::chat::call("toolu_1", "bash", &input), prose(&["fine"])],
    );
    chat.nvim.input("<C-]>");
    // The latest output stands under the running block, on the screen and not in the text.
    chat.nvim.wait_for("the output", |nvim| nvim.screen().iter().any(|row| row.trim() == "started"));
    assert!(chat.nvim.text().contains("```flemma:tool status=running\n```\n"));
    assert!(!chat.nvim.text().contains("\nstarted"));
    let work = chat.nvim.work();
    chat.nvim.wait_for("the pid", |_| std::fs::read_to_string(work.join("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    let pid = chat.nvim.file("pid").trim().to_owned();

    chat.nvim.input("<C-c>");
    chat.wait_until_idle();
    let text = chat.nvim.text();
    assert!(text.contains("**Tool Result:** `toolu_1` (error)\n\n```\nThe user cancelled"), "{text}");
    chat.nvim.wait_for("the process group to be gone", |_| !std::path::Path::new("/proc").join(&pid).exists());
    assert_eq!(chat.server.requests().len(), 1, "autopilot is disarmed");

    // The next key carries on; the provider sees the call answered.
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
    let messages = chat.messages(1);
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "toolu_1");
    assert_eq!(messages[2]["content"][0]["is_error"], true);
}

#[test]
fn ctrl_c_keeps_and_marks_the_beginning_of_a_reply() {
    let gate = Gate::new();
    let stream = Stream::new().text(&["some words"]);
    let held = stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hold(&gate);
    let mut chat = Chat::start(&Setup::default(), [held, prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("some words"));
    chat.nvim.input("<C-c>");
    chat.wait_for_text("@You:\nHello\n\n@Assistant:\nsome words\n\n<!-- flemma:aborted -->\n\n@You:\n\n");
    chat.wait_until_idle();
    chat.server.wait_for_leavers(1);

    chat.nvim.input("iGo on<Esc><C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("fine"));
    let messages = chat.messages(1);
    assert_eq!(messages[1]["content"][0]["text"], "some words", "the marker is ours alone");
}

#[test]
fn ctrl_c_stops_a_reply_also_while_neovim_runs_something_else() {
    // Neovim takes the key for an interrupt in some of these places, and passes it on without its mapping.
    let ways = [
        "vim.fn.timer_start(1, function() vim.api.nvim_input('<C-c>') end)",
        "vim.schedule(function() vim.api.nvim_input('<C-c>') end)",
        "vim.defer_fn(function() vim.api.nvim_input('<C-c>') end, 1)",
        // The next piece of the reply is written during the interrupt.
        "vim.fn.timer_start(1, function()
           vim.api.nvim_input('<C-c>')
           vim.uv.sleep(300)
           require('flemma.native').call('drain')
         end)",
    ];
    for way in ways {
        let gate = Gate::new();
        let stream = Stream::new().text(&["some words", " and more"]);
        let mut held = Reply::stream();
        for event in stream.events() {
            held = if event.contains("and more") {
                held.hold(&gate).chunk(event.as_str())
            } else {
                held.chunk(event.as_str())
            };
        }
        let mut chat = Chat::start(&Setup::default(), [held.hold(&Gate::new())]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the words", |nvim| nvim.text().contains("some words"));
        chat.nvim.lua(way, &[]);
        if way.contains("drain") {
            gate.open();
        }
        chat.nvim.wait_for(&format!("the end by {way}"), |nvim| nvim.text().contains("<!-- flemma:aborted -->"));
        chat.wait_until_idle();
        let text = chat.nvim.text();
        assert_eq!(text.contains("some words and more\n"), way.contains("drain"), "{way}: {text}");
        assert!(!chat.nvim.messages().contains("Error"), "{way}: {}", chat.nvim.messages());
        assert!(!chat.nvim.messages().to_lowercase().contains("running here"), "{way}: {}", chat.nvim.messages());
        assert!(!chat.nvim.messages().contains(":qa"), "{way}: {}", chat.nvim.messages());
        // A key that comes later is an ordinary one.
        chat.nvim
            .interrupt_until("the answer", |nvim| nvim.messages().to_lowercase().contains("nothing is running here"));
    }
}
