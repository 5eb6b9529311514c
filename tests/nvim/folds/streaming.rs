//! Folds while text arrives, and what becomes of cards when their calls end.

use serde_json::json;

use super::{
    chat::{Chat, Setup, call, prose, reply},
    closed,
    http::{Gate, Reply},
    rows, wait_for_closed,
};
use crate::anthropic::Stream;

/// A reply of so many lines that stops in the middle until the gate opens.
fn slow(gate: &Gate, lines: usize) -> Reply {
    let pieces: Vec<String> = (1..=lines).map(|line| format!("line {line}\n")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let stream = Stream::new().text(&pieces).end("end_turn");
    stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == lines / 2 { reply.hold(gate) } else { reply }
    })
}

#[test]
fn a_card_is_open_while_it_waits_and_closed_when_good() {
    let input = json!({"label": null, "command": "echo done", "timeout": null});
    let replies = [call("toolu_1", "bash", &input), prose(&["All is well."])];
    let mut chat = Chat::start(&Setup::default(), replies);
    chat.send_until("status=pending");
    assert_eq!(closed(&mut chat.nvim), ["[▸ bash]"]);
    chat.nvim.input("<M-CR><C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("All is well."));
    chat.wait_until_idle();
    chat.nvim.wait_for("closed cards", |nvim| closed(nvim).len() == 2);
    let cards = closed(&mut chat.nvim);
    assert_eq!(cards[0], "[▸ bash]");
    assert!(cards[1].starts_with("[▸ bash echo done  1 line  ✓"), "{cards:?}");
}

/// The time is that of the journal, which is read after the first screen.
#[test]
fn the_line_of_a_closed_card_has_its_time_after_reopening() {
    let input = json!({"label": null, "command": "echo done", "timeout": null});
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &input), prose(&["All is well."])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("All is well."));
    chat.wait_until_idle();
    chat.nvim.command("write | bwipeout! | edit notes.chat | redraw");
    chat.nvim.wait_for("the time", |nvim| {
        nvim.screen().iter().any(|row| row.contains("\u{25b8} bash echo done") && row.trim_end().ends_with("s"))
    });
}

#[test]
fn calls_that_are_done_become_a_list_of_cards() {
    let read = |path: &str| json!({"label": null, "path": path, "offset": null, "limit": null}).to_string();
    let bash = json!({"label": null, "command": "make", "timeout": null}).to_string();
    let calls = Stream::new()
        .text(&["I look."])
        .tool_use("toolu_1", "read", &[&read("a.txt")])
        .tool_use("toolu_2", "read", &[&read("missing.txt")])
        .tool_use("toolu_3", "read", &[&read("b.txt")])
        .tool_use("toolu_4", "bash", &[&bash])
        .end("tool_use");
    let files = &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "four\n")];
    let mut chat = Chat::start(&Setup { files, ..Setup::default() }, [reply(&calls)]);
    chat.send_until("status=pending");
    let list = ["\u{25b8} read", "\u{25b8} read", "\u{25b8} read", "\u{25b8} bash"];
    let cards =
        ["\u{25b8} read a.txt", "! read missing.txt", "missing.txt does", "", "\u{25b8} read b.txt", "? bash make"];
    chat.nvim.wait_for("the list", |nvim| {
        let first = nvim.row_with("I look.").map_or(0, |row| row + 2);
        let shown = nvim.screen();
        list.iter()
            .chain(&[""])
            .chain(&cards)
            .zip(&shown[first..])
            .all(|(card, row)| row.trim_start().starts_with(card))
    });
    let closed = closed(&mut chat.nvim);
    assert_eq!(closed.len(), 6, "{closed:?}");
    assert!(closed[4].starts_with("[\u{25b8} read a.txt  3 lines  ✓"), "{closed:?}");
}

#[test]
fn a_result_is_folded_before_it_is_drawn() {
    let gate = Gate::new();
    let input = json!({"label": null, "path": "a.txt", "offset": null, "limit": null});
    let files = &[("a.txt", "first line of it\nsecond\nthird\n")];
    let replies = [call("toolu_1", "read", &input), Reply::stream().hold(&gate)];
    let mut chat = Chat::start(&Setup { files, ..Setup::default() }, replies);
    chat.nvim.lua(
        "_G.seen = {}
         vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace('seen'), { on_win = function(_, _, buf)
           for line, text in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
             if text == 'first line of it' and vim.fn.foldclosed(line) == -1 then
               table.insert(_G.seen, debug.traceback())
             end
           end
         end })
         -- Something else draws the screen again and again, like a message or a status line.
         _G.timer = vim.uv.new_timer()
         _G.timer:start(0, 1, vim.schedule_wrap(function() vim.cmd.redraw() end))",
        &[],
    );
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("first line of it"));
    chat.nvim.wait_for("a closed result", |nvim| closed(nvim).len() == 2);
    let seen = chat.nvim.lua("return _G.seen", &[]);
    assert_eq!(seen.as_array().map(Vec::len), Some(0), "it was drawn open: {seen:#?}");
    chat.nvim.lua("_G.timer:stop()", &[]);
    gate.open();
    chat.nvim.wait_for("the end", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true);
    chat.wait_until_idle();
    chat.nvim.wait_for("the result is closed still", |nvim| closed(nvim).len() == 2);
}

#[test]
fn a_card_whose_call_failed_stays_open() {
    let input = json!({"label": null, "command": "false", "timeout": null});
    let replies = [call("toolu_1", "bash", &input), prose(&["It failed."])];
    let options = "tools = { auto_approve = { 'bash' } }";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, replies);
    chat.send_until("It failed.");
    assert!(chat.nvim.text().contains("(error)"), "{}", chat.nvim.text());
    assert_eq!(closed(&mut chat.nvim), ["[▸ bash]"]);
}

#[test]
fn a_reader_sees_no_line_move_while_text_arrives() {
    let gate = Gate::new();
    let card = "@Assistant:\n<thinking>\nHm.\n</thinking>\n\nWords.\n\n@You:\nMore.\n\n";
    let text = format!("{}@You:\nGo on.\n", card.repeat(30));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [slow(&gate, 40)]);
    chat.wait_until_idle();
    chat.nvim.input("G<C-]>");
    chat.nvim.wait_for_screen("line 19");
    // Up to the middle, and one of the folds above is opened.
    chat.nvim.input("100Gzt");
    chat.nvim.input("93Gzo100G");
    let view = "local view = vim.fn.winsaveview() return { view.topline, view.lnum, vim.fn.foldclosed(92), vim.fn.foldclosed(82) }";
    chat.nvim.wait_for("the cursor", |nvim| nvim.cursor().0 == 100);
    let before = chat.nvim.lua(view, &[]);
    let screen: Vec<String> = chat.nvim.screen()[..30].to_vec();
    gate.open();
    chat.nvim.wait_for("the whole reply", |nvim| nvim.text().contains("line 40"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua(view, &[]), before);
    assert_eq!(chat.nvim.screen()[..30], screen[..]);
}

#[test]
fn thinking_is_open_while_it_arrives_and_closed_afterwards() {
    let gate = Gate::new();
    let stream = Stream::new().thinking(&["One.\n", "Two.\n", "Three.\n"], "sig").text(&["Done."]).end("end_turn");
    let held = stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == 4 { reply.hold(&gate) } else { reply }
    });
    let mut chat = Chat::start(&Setup::default(), [held]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("Two.");
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
    gate.open();
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("Done."));
    chat.wait_until_idle();
    chat.nvim.wait_for("a closed fold", |nvim| closed(nvim).len() == 1);
    assert!(closed(&mut chat.nvim)[0].starts_with("[▸ thinking"), "{:?}", rows(&mut chat.nvim));
}

#[test]
fn thinking_before_a_call_is_closed_and_leaves_no_empty_rows() {
    let lines: Vec<String> = (1..=60).map(|number| format!("thought {number}\n")).collect();
    let thoughts: Vec<&str> = lines.iter().map(String::as_str).collect();
    let input = json!({"label": null, "command": "echo done", "timeout": null}).to_string();
    let stream = Stream::new().thinking(&thoughts, "sig").tool_use("toolu_1", "bash", &[&input]).end("tool_use");
    let gate = Gate::new();
    let last = stream.events().len() - 8;
    let held = stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == last { reply.hold(&gate) } else { reply }
    });
    let mut chat = Chat::start(&Setup::default(), [held]);
    chat.nvim.request("nvim_ui_try_resize", &[json!(80), json!(24)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("thought 60");
    assert!(chat.nvim.row_with("Hello").is_none(), "the window is full");
    gate.open();
    chat.nvim.wait_for("the call", |nvim| nvim.row_with("? bash echo done").is_some());
    chat.wait_until_idle();
    chat.nvim.wait_for("closed thinking", |nvim| closed(nvim).len() == 2);
    chat.nvim.wait_for("the question", |nvim| nvim.row_with("Hello").is_some());
    assert!(chat.nvim.row_with("? bash echo done").is_some(), "{:#?}", chat.nvim.screen());
}

#[test]
fn folds_survive_edits_and_their_undo() {
    let mut chat = Chat::start(&Setup { text: Some(super::TURN), ..Setup::default() }, []);
    let mut expected = super::opening::CLOSED.to_vec();
    wait_for_closed(&mut chat.nvim, &expected);
    // The user opens one and closes another one.
    chat.go_to("Two files.");
    chat.nvim.input("zo");
    chat.go_to("toolu_3` (error)");
    chat.nvim.input("zc");
    expected.remove(1);
    expected.push("[▸ edit greet.py +2 -1  1 line  ✗ failed]");
    wait_for_closed(&mut chat.nvim, &expected);
    chat.nvim.input("Goone<CR>two<Esc>5GO<Esc>u");
    wait_for_closed(&mut chat.nvim, &expected);
    chat.nvim.input("u");
    wait_for_closed(&mut chat.nvim, &expected);
    chat.nvim.wait_for("the text", |nvim| nvim.text() == super::TURN);
    // Another program has added something.
    let file = chat.nvim.work().join("notes.chat");
    std::fs::write(&file, format!("{}And more.\n", super::TURN)).unwrap();
    chat.nvim.command("set autoread | checktime");
    chat.nvim.wait_for("the new text", |nvim| nvim.text().contains("And more."));
    // Neovim has deleted the folds before it says so.
    wait_for_closed(&mut chat.nvim, &super::opening::CLOSED);
}

#[test]
fn a_turn_in_a_window_that_is_left_has_its_folds() {
    let input = json!({"label": null, "command": "echo done", "timeout": null});
    let two = Stream::new().text(&["Let me look."]).tool_use("toolu_1", "bash", &[&input.to_string()]).end("tool_use");
    let replies = [reply(&two), prose(&["All is well."])];
    let options = "tools = { auto_approve = { 'bash' } }";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, replies);
    chat.nvim.input("<C-]>:enew<CR>i");
    chat.nvim.wait_for("the end", |nvim| {
        nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('notes.chat'), 0, -1, true))", &[])
            .as_str()
            .unwrap()
            .contains("All is well.")
    });
    chat.nvim.input("<Esc>:buffer notes.chat<CR>");
    chat.wait_until_idle();
    chat.nvim.wait_for("closed cards", |nvim| closed(nvim).len() == 2);
}
