//! Where the cursor moves, and where it stays.

use serde_json::json;

use super::{
    anthropic::{Stream, event},
    chat::{Chat, Setup, call, prose},
    http::{Gate, Reply},
};

/// A reply of ten lines that stops after the fifth until the gate opens.
fn slow(gate: &Gate) -> Reply {
    let pieces: Vec<String> = (1..=10).map(|line| format!("line {line}\n")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let stream = Stream::new().text(&pieces).end("end_turn");
    stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == 6 { reply.hold(gate) } else { reply }
    })
}

#[test]
fn the_window_that_sent_follows_the_reply_from_any_line() {
    let gate = Gate::new();
    let text = format!("@System:\n{}\n@You:\nHello\n", "rule\n".repeat(60));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [slow(&gate)]);
    assert_eq!(chat.nvim.cursor().0, 1);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("line 5");
    let last = chat.nvim.lines(0).len() as u64;
    assert_eq!(chat.nvim.cursor().0, last);
    gate.open();
    chat.wait_until_idle();
    let last = chat.nvim.lines(0).len() as u64;
    assert_eq!(chat.nvim.cursor(), (last, 0), "on the prompt");
}

#[test]
fn a_user_who_scrolls_back_in_a_tall_paragraph_is_left_alone() {
    for keys in ["<C-y>", "<C-y><C-y><C-y><C-y>", "<C-u>", "gk", "<ScrollWheelUp>"] {
        let gates = [Gate::new(), Gate::new()];
        let words = |from: usize| (from..from + 400).map(|number| format!("w{number} ")).collect::<String>();
        let stream = Stream::new().text(&[&words(0), &words(400), &words(800)]).end("end_turn");
        let reply = stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
            let reply = reply.chunk(event.as_str());
            match n {
                2 => reply.hold(&gates[0]),
                3 => reply.hold(&gates[1]),
                _ => reply,
            }
        });
        let mut chat = Chat::start(&Setup::default(), [reply]);
        chat.nvim.request("nvim_ui_try_resize", &[json!(80), json!(12)]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for_screen("w399");
        let view = "vim.cmd('redraw') local view = vim.fn.winsaveview() return { view.topline, view.skipcol }";
        let (end, column) = (chat.nvim.lua(view, &[]), chat.nvim.cursor().1);
        chat.nvim.input(keys);
        chat.nvim.wait_for(keys, |nvim| nvim.cursor().1 < column);
        let before = chat.nvim.lua(view, &[]);
        gates[0].open();
        chat.nvim.wait_for("more words", |nvim| nvim.text().contains("w799"));
        assert_eq!(chat.nvim.lua(view, &[]), before, "{keys}, from {end}");
        // At the end of the text, the window follows again.
        chat.nvim.input("$");
        chat.nvim.wait_for_screen("w799");
        gates[1].open();
        chat.nvim.wait_for_screen("w1199");
        chat.wait_until_idle();
    }
}

#[test]
fn a_user_who_goes_up_to_read_is_left_alone() {
    let gate = Gate::new();
    let mut chat = Chat::start(&Setup::default(), [slow(&gate)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("line 5");
    chat.nvim.input("gg");
    chat.nvim.wait_for("the first line", |nvim| nvim.cursor().0 == 1);
    gate.open();
    chat.nvim.wait_for("the whole reply", |nvim| nvim.text().contains("line 10"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.cursor().0, 1);
}

#[test]
fn a_second_window_on_the_conversation_stays_where_it_is() {
    let text = format!("@You:\n{}Hello\n", "filler\n".repeat(60));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [prose(&["one\ntwo"])]);
    chat.nvim.input("<C-w>sgg<C-w>jG<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("two"));
    chat.wait_until_idle();
    let lines = chat.nvim.lua(
        "return vim.tbl_map(function(win) return vim.api.nvim_win_get_cursor(win)[1] end, vim.fn.win_findbuf(vim.fn.bufnr()))",
        &[],
    );
    let last = chat.nvim.lines(0).len() as u64;
    assert_eq!(lines, json!([1, last]));
}

#[test]
fn cursor_after_result_stay_leaves_the_cursor_and_next_goes_on() {
    let input = json!({"label": null, "command": "echo done", "timeout": null});
    for (option, expected) in [("stay", 8), ("result", 12)] {
        let options = format!("tools = {{ cursor_after_result = '{option}', autopilot = {{ enabled = false }} }}");
        let setup = Setup { options: &options, ..Setup::default() };
        let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input)]);
        chat.send_until("echo done");
        chat.go_to("```json");
        assert_eq!(chat.nvim.cursor().0, 7);
        chat.nvim.input("zRj<M-CR>");
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("\ndone\n"));
        chat.wait_until_idle();
        assert_eq!(chat.nvim.cursor().0, expected, "{option}: {}", chat.nvim.text());
    }
}

#[test]
fn a_usage_event_before_the_text_moves_nothing() {
    let ping = event(&json!({"type": "ping"}));
    let stream = Stream::new().text(&["hi"]).end("end_turn");
    let reply =
        stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(ping.clone()).chunk(event.as_str()));
    let mut chat = Chat::start(&Setup::default(), [reply]);
    chat.nvim.input("<C-]>");
    chat.wait_for_text("@You:\nHello\n\n@Assistant:\nhi\n\n@You:\n\n");
}

#[test]
fn the_cursor_rests_on_a_call_that_something_else_answers() {
    let lua = "require('flemma.tools').register('sign', {
        description = 'Have something sign.', executor = 'client', approval = 'auto',
        input_schema = { type = 'object', properties = vim.empty_dict() },
      })";
    for (keys, mode) in [("<C-]>", "n"), ("A there<C-]>", "i")] {
        let replies = [call("toolu_1", "sign", &json!({})), prose(&["fine"])];
        let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
        chat.nvim.input(keys);
        chat.nvim.wait_for("the call", |nvim| nvim.text().contains("kind=client_exec"));
        // The call is under way until somebody answers it.
        chat.nvim.wait_for("an unlocked buffer", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true);
        let header = chat.nvim.lines(0).iter().position(|line| line.contains("**Tool Result:**")).unwrap() as u64 + 1;
        chat.nvim.wait_for("the cursor", |nvim| nvim.cursor() == (header, 0));
        // Insert mode does not come back on the card, but at the end of the turn.
        chat.nvim.wait_for("Normal mode", |nvim| nvim.mode() == "n");
        chat.nvim.lua("require('flemma.tools').resolve(0, 'toolu_1', 'signed')", &[]);
        chat.nvim.wait_for("the end", |nvim| nvim.text().ends_with("fine\n\n@You:\n\n") && nvim.mode() == mode);
        assert!(chat.nvim.text().contains("\n```\nsigned\n```\n"), "{}", chat.nvim.text());
    }
}
