//! Bad input and failing servers.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, KEY, Setup, call, prose, said, spinner},
    http::Reply,
    support::{Nvim, Options},
};

/// Sends, and waits for a message that contains `expected`; nothing else may have changed.
fn refused(chat: &mut Chat, expected: &str) {
    let before = chat.nvim.text();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for(expected, |nvim| said(nvim).contains(expected));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.text(), before);
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains(KEY), "{messages}");
    assert!(!messages.contains("stack traceback"), "{messages}");
}

#[test]
fn a_missing_key_names_its_variable_and_sends_nothing() {
    let mut chat = Chat::start(&Setup { environment: &[], ..Setup::default() }, []);
    refused(&mut chat, "ANTHROPIC_API_KEY");
    chat.nvim.command("checkhealth flemma");
    let report = chat.nvim.text();
    assert!(
        report.contains("ERROR provider `anthropic`, ") && report.contains("ANTHROPIC_API_KEY is not set"),
        "{report}"
    );
    assert_eq!(chat.server.requests().len(), 0);
}

#[test]
fn a_key_that_is_not_taken_is_said_once_and_not_tried_again() {
    let error = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let mut chat = Chat::start(&Setup::default(), [Reply::json(401, &error), Reply::json(401, &error)]);
    refused(&mut chat, "invalid x-api-key");
    assert_eq!(chat.server.requests().len(), 1);
    chat.server.push(Reply::json(200, &json!({"data": []})));
    for words in ["ERROR provider `anthropic`, ", "OK provider `anthropic`, "] {
        chat.nvim.command("checkhealth flemma");
        let report = chat.nvim.text();
        let place = "the key is in ANTHROPIC_API_KEY; ";
        assert!(report.contains(words) && report.contains(place) && !report.contains(KEY), "{report}");
        // The block for a report about a problem: versions, system, and the names of options.
        let block = report.split("For a report about a problem").nth(1).unwrap_or_default();
        let has = ["plugin 0.1.0, library 0.1.0, Neovim 0.", ", terminal ", "options that are set: ", "base_url"];
        assert!(has.iter().all(|words| block.contains(words)), "{block}");
        chat.nvim.command("quit");
    }
    assert_eq!(chat.server.requests()[2].path, "/v1/models");
}

#[test]
fn a_busy_provider_is_asked_again_while_the_screen_says_so() {
    let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let mut chat = Chat::start(
        &Setup::default(),
        [
            Reply::json(429, &error).header("retry-after", "1"),
            Reply::json(529, &overloaded).header("retry-after", "0"),
            prose(&["at last"]),
        ],
    );
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("retrying");
    chat.wait_for_text("@You:\nHello\n\n@Assistant:\nat last\n\n@You:\n\n");
    assert_eq!(chat.server.requests().len(), 3);
}

/// Neovim's functions say where in our own Lua they were called.
#[test]
fn no_message_names_a_file_of_the_plugin() {
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &json!({"command": "true"}))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    chat.nvim.lua("vim.api.nvim_buf_set_text = function() error('E342: Out of memory', 2) end", &[]);
    chat.nvim.command("Flemma tool:approve");
    chat.nvim.wait_for("the failure", |nvim| said(nvim).contains("writing to the buffer failed: "));
    let messages = said(&mut chat.nvim);
    assert!(messages.contains("writing to the buffer failed: E342: Out of memory"), "{messages}");
    assert!(!messages.contains(".lua"), "{messages}");
}

#[test]
fn a_truncated_call_becomes_an_error_and_never_runs() {
    let input = json!({"label": "x", "path": "made.txt", "content": "x"}).to_string();
    let stream = Stream::new().tool_use("toolu_1", "write", &[&input]);
    let cut = stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).cut();
    let mut chat = Chat::start(&Setup::default(), [cut]);
    chat.send_until("**Tool Result:** `toolu_1` (error)");
    assert!(!chat.nvim.work().join("made.txt").exists());
    chat.nvim.input("<C-]>");
    chat.wait_until_idle();
    assert!(!chat.nvim.work().join("made.txt").exists());
}

#[test]
fn a_malformed_conversation_is_not_sent_and_its_line_is_named() {
    for (text, line, words) in [
        ("@You:\nHi\n\n@Assistant:\n<thinking>\nhm\n\n@You:\nGo\n", 5, "thinking"),
        ("Hello\n@You:\nHi\n", 1, ""),
        ("@You:\n**Tool Result:** `x`\n\n```\nno such call\n```\n", 2, "x"),
    ] {
        let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
        refused(&mut chat, &format!("line {line}: "));
        let found = chat.nvim.lua("return vim.diagnostic.get(0)", &[]);
        assert_eq!(found[0]["lnum"], line - 1, "{found}");
        assert!(found[0]["message"].as_str().unwrap().contains(words), "{found}");
        assert_eq!(chat.server.requests().len(), 0);
    }
}

#[test]
fn a_conversation_that_waits_for_nothing_is_not_sent() {
    let mut chat = Chat::start(&Setup { text: Some("@You:\n\n"), ..Setup::default() }, []);
    refused(&mut chat, "Nothing to send");
}

#[test]
fn long_lines_and_carriage_returns_are_sent_as_they_are() {
    let long = "x".repeat(1 << 20);
    let text = format!("@You:\r\n{long}\r\nend");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [prose(&["ok"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.lines(0).iter().any(|line| line.starts_with("ok")));
    assert_eq!(chat.messages(0)[0]["content"][0]["text"], format!("{long}\nend"));
}

#[test]
fn invalid_utf8_is_replaced_in_requests_and_kept_in_the_file() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["ok"])]);
    chat.nvim.lua("vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'a\\255b' })", &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.lua("return vim.fn.getline(5)", &[]) == "ok");
    assert_eq!(chat.messages(0)[0]["content"][0]["text"], "a\u{fffd}b");
    assert_eq!(chat.nvim.lua("return vim.fn.getline(2) == 'a\\255b'", &[]), true);
}

#[test]
fn unknown_tools_and_invalid_json_become_errors_for_the_model() {
    let first = Stream::new()
        .tool_use("toolu_1", "reed", &["{}"])
        .tool_use("toolu_2", "read", &["{\"path\": \"a"])
        .tool_use("toolu_3", "read", &["{\"path\": 7}"])
        .end("tool_use");
    let mut chat = Chat::start(&Setup::default(), [super::chat::reply(&first), prose(&["sorry"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("sorry"));
    let messages = chat.messages(1);
    let results = messages[2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for (result, words) in results.iter().zip(["Did you mean `read`?", "JSON", "path"]) {
        assert_eq!(result["is_error"], true);
        assert!(result["content"].to_string().contains(words), "{result}");
    }
}

#[test]
fn a_missing_or_outdated_library_names_the_command_to_run() {
    for (environment, words) in [
        ([("FLEMMA_NATIVE", "/nowhere/flemma.so")], "is missing"),
        (
            [("FLEMMA_NATIVE", "/bin/true")],
            "cannot be \
                                                                                                        loaded",
        ),
    ] {
        let mut nvim = Nvim::start(&Options {
            files: &[("notes.chat", "@You:\nHello\n")],
            environment: &environment,
            arguments: &["notes.chat"],
            ..Options::default()
        });
        nvim.command("Flemma send");
        nvim.wait_for("the message", |nvim| said(nvim).contains(words));
        let messages = said(&mut nvim);
        assert!(messages.contains("$FLEMMA_NATIVE is set: correct it"), "{messages}");
        nvim.input("Gotyped<Esc>");
        nvim.wait_for("an ordinary buffer", |nvim| nvim.text() == "@You:\nHello\ntyped\n");
        nvim.command("checkhealth flemma");
        nvim.wait_for("the report", |nvim| nvim.text().contains(words));
    }
}

#[test]
fn a_panic_in_an_export_and_in_the_drain_leaves_neovim_alive() {
    let environment = &[("ANTHROPIC_API_KEY", KEY), ("FLEMMA_FAULTS", "1")];
    let setup = Setup { environment, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["still here"])]);
    chat.nvim.lua("require('flemma.native').call('fault', 'export')", &[]);
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("internal error in fault"));
    chat.nvim.lua("require('flemma.native').call('fault', 'drain')", &[]);
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("internal error in drain"));
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains("stack traceback"), "{messages}");
    // The plugin still works.
    chat.send_until("still here");
    assert_eq!(spinner(&mut chat.nvim), []);
}

#[test]
fn a_misspelt_option_and_a_misspelt_command_name_the_nearest() {
    let mut nvim = Nvim::start(&Options {
        init: "require('flemma').setup({ tools = { auto_aprove = { 'read' } }, provider = 'anthropc' })",
        ..Options::default()
    });
    // One message has both, since the screen keeps the last one.
    nvim.wait_for("the message", |nvim| said(nvim).contains("tools.auto_approve"));
    nvim.wait_for_screen("Flemma: `setup` failed: `provider` must be");
    nvim.command("Flemma snd");
    nvim.wait_for("the message", |nvim| said(nvim).contains("did you mean `send`?"));
}

#[test]
fn a_callback_of_another_plugin_that_throws_is_reported_once() {
    let pieces: Vec<String> = (0..300).map(|n| format!("piece {n}\n")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let lua = "vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', callback = function(args)
        vim.api.nvim_buf_attach(args.buf, false, { on_bytes = function() error('not my day') end })
      end })";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [prose(&pieces)]);
    chat.nvim.lua("vim.v.errmsg = 'the user\\'s own'", &[]);
    chat.send_until("piece 299\n\n@You:");
    assert_eq!(chat.nvim.request("nvim_get_mode", &[])["blocking"], false);
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("another plugin's callback failed"));
    let messages = said(&mut chat.nvim);
    assert_eq!(messages.matches("not my day").count(), 1, "{messages}");
    assert_eq!(chat.nvim.lua("return vim.v.errmsg", &[]), "the user's own");
}

/// A chat whose reply came to its end, and the most lines that came into the buffer while the main loop ran nothing else.
fn most_lines_at_once(replies: impl IntoIterator<Item = Reply>, end: &str) -> (Chat, u64) {
    let lua = "most = 0
        local last = vim.api.nvim_buf_line_count(0)
        vim.uv.new_timer():start(1, 1, vim.schedule_wrap(function()
          local now = vim.api.nvim_buf_line_count(0)
          most = math.max(most, now - last)
          last = now
        end))";
    let mut chat = Chat::start(&Setup { ..Setup::default() }, replies);
    chat.nvim.lua(lua, &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for(end, |nvim| {
        said(nvim).contains(end) || nvim.lua("return vim.fn.search((...), 'nw')", &[end.into()]) != 0
    });
    chat.wait_until_idle();
    let most = chat.nvim.lua("return most", &[]).as_u64().unwrap();
    (chat, most)
}

#[test]
fn no_reply_holds_up_the_editor() {
    let long_name = Stream::new().tool_use("toolu_1", &"x".repeat(5 << 20), &["{}"]).end("tool_use");
    let (mut chat, _) = most_lines_at_once([super::chat::reply(&long_name), prose(&["sorry"])], "sorry");
    let longest = chat.nvim.lines(0).iter().map(String::len).max().unwrap();
    assert!(longest < 300, "{longest}");

    // It comes in slices of 64 KiB, with the main loop in between.
    let blank = "\n".repeat(500_000);
    let (mut chat, most) = most_lines_at_once([prose(&["a", &blank, "the end"])], "the end");
    assert!(most < 150_000, "{most} lines at once");
    assert!(chat.nvim.request("nvim_buf_line_count", &[0.into()]).as_u64().unwrap() > 500_000);
}

#[test]
fn a_reply_that_is_too_large_is_cut_and_names_the_option() {
    let lua = "local options = require('flemma').options()
        options.parameters.max_reply_bytes = 1000
        require('flemma').setup(options)";
    let replies = [prose(&[&"y".repeat(900), &"z".repeat(900), "never"])];
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("parameters.max_reply_bytes"));
    chat.wait_until_idle();
    let text = chat.nvim.text();
    assert!(text.contains(&format!("{}{}\n\n<!-- flemma:aborted -->", "y".repeat(900), "z".repeat(100))), "{text}");
}
