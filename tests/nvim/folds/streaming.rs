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
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
    chat.nvim.input("<M-CR><C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("All is well."));
    chat.wait_until_idle();
    chat.nvim.wait_for("closed cards", |nvim| closed(nvim).len() == 2);
    let cards = closed(&mut chat.nvim);
    assert!(cards[0].starts_with("[▸ bash echo done  ✓"), "{cards:?}");
    assert_eq!(cards[1], "[▸ bash echo done  1 line]");
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
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the calls", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    let cards = ["\u{25b8} read a.txt", "> read missing.txt", "\u{25b8} read b.txt", "> bash make"];
    chat.nvim.wait_for("the list", |nvim| {
        let first = nvim.row_with("I look.").map_or(0, |row| row + 2);
        let shown = nvim.screen();
        cards.iter().zip(&shown[first..]).all(|(card, row)| row.trim_start().starts_with(card))
    });
    let closed = closed(&mut chat.nvim);
    assert_eq!(closed.len(), 4, "{closed:?}");
    assert_eq!(closed[2..], ["[\u{25b8} read a.txt  3 lines]", "[\u{25b8} read b.txt  1 line]"]);
}

/// The text must not move for a call that is over in a moment. One that goes on has its output below it.
#[test]
fn a_call_that_begins_to_run_is_opened_only_if_it_is_slow() {
    let lua = "_G.seen = {}
      require('flemma.tools').register('waits', {
        description = 'x', input_schema = { type = 'object' }, approval = 'auto', async = true,
        execute = function(_, _, callback)
          _G.finish = callback
          -- When what has come with the reply is folded.
          vim.schedule(function() vim.schedule(function()
            local line = vim.fn.search('status=running', 'n')
            _G.seen[#_G.seen + 1] = vim.fn.foldclosed(line) ~= -1
            if #_G.seen < 5 then callback({ success = true, output = 'done' }) end
          end) end)
        end,
      })";
    let replies = (1..=5).map(|n| call(&format!("toolu_{n}"), "waits", &json!({ "n": n })));
    let setup = Setup { lua, ..Setup::default() };
    let mut chat = Chat::start(&setup, replies.chain([prose(&["fine"])]));
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the last call", |nvim| nvim.lua("return #_G.seen", &[]) == 5);
    // A busy machine may have been slower than the call.
    let begun = chat.nvim.lua("return vim.list_contains(_G.seen, true)", &[]);
    assert_eq!(begun, true, "closed at first");
    let is_open = "return vim.fn.foldclosed(vim.fn.search('status=running', 'nw')) == -1";
    chat.nvim.wait_for("the open block", |nvim| nvim.lua(is_open, &[]) == true);
    chat.nvim.lua("_G.finish({ success = true, output = 'in the end' })", &[]);
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.nvim.wait_for("closed cards", |nvim| closed(nvim).len() >= 10);
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
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("It failed."));
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("(error)"), "{}", chat.nvim.text());
    assert_eq!(closed(&mut chat.nvim), [""; 0]);
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
fn thinking_that_was_being_read_is_closed_later() {
    let gate = Gate::new();
    let stream = Stream::new().thinking(&["One.\n", "Two.\n", "Three.\n"], "sig").text(&["Done."]).end("end_turn");
    let held = stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if event.contains("Two.") && n > 0 { reply.hold(&gate) } else { reply }
    });
    let mut chat = Chat::start(&Setup::default(), [held]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("thinking", |nvim| nvim.text().contains("Two."));
    chat.nvim.input("gg");
    gate.open();
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("Done."));
    chat.wait_until_idle();
    assert_eq!(closed(&mut chat.nvim), [""; 0], "what is being read stays");
    // All of it is on the screen, so nothing scrolls.
    chat.nvim.input("G");
    chat.nvim.wait_for("closed thinking", |nvim| closed(nvim).len() == 1);
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
    chat.nvim.wait_for("the call", |nvim| nvim.row_with("bash: $ echo done").is_some());
    chat.wait_until_idle();
    chat.nvim.wait_for("closed thinking", |nvim| closed(nvim).len() == 1);
    chat.nvim.wait_for("the question", |nvim| nvim.row_with("Hello").is_some());
    assert!(chat.nvim.row_with("bash: $ echo done").is_some(), "{:#?}", chat.nvim.screen());
}

#[test]
fn folds_survive_undo_and_reading_the_file_again() {
    let mut chat = Chat::start(&Setup { text: Some(super::TURN), ..Setup::default() }, []);
    let mut expected = super::opening::CLOSED.to_vec();
    expected.push("[▸ bash cargo test  1 line]");
    wait_for_closed(&mut chat.nvim, &expected);
    // The user opens one and closes another one.
    chat.go_to("Two files.");
    chat.nvim.input("zo");
    chat.go_to("toolu_3` (error)");
    chat.nvim.input("zc");
    expected.remove(1);
    expected.push("[▸ edit greet.py +2 -1  ✗ failed]");
    wait_for_closed(&mut chat.nvim, &expected);
    chat.nvim.input("Goone<CR>two<Esc>5GO<Esc>u");
    wait_for_closed(&mut chat.nvim, &expected);
    chat.nvim.input("u");
    wait_for_closed(&mut chat.nvim, &expected);
    chat.nvim.wait_for("the text", |nvim| nvim.text() == super::TURN);
    for _ in 0..2 {
        chat.nvim.command("edit!");
        chat.wait_until_idle();
        wait_for_closed(&mut chat.nvim, &expected);
    }
    // Another program has added something.
    let file = chat.nvim.work().join("notes.chat");
    std::fs::write(&file, format!("{}And more.\n", super::TURN)).unwrap();
    chat.nvim.command("set autoread | checktime");
    chat.nvim.wait_for("the new text", |nvim| nvim.text().contains("And more."));
    // Neovim has deleted the folds before it says so.
    let mut expected = super::opening::CLOSED.to_vec();
    expected.push("[▸ bash cargo test  1 line]");
    wait_for_closed(&mut chat.nvim, &expected);
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

#[test]
fn a_window_with_another_size_shows_what_it_can() {
    let long = "many words in a paragraph ".repeat(20);
    let mut chat = Chat::start(&Setup::default(), [prose(&[&long])]);
    for (columns, lines) in [(30, 14), (90, 14), (90, 34), (30, 24), (60, 16)] {
        chat.nvim.request("nvim_ui_try_resize", &[json!(columns), json!(lines)]);
        if chat.server.requests().is_empty() {
            chat.nvim.input("<C-]>");
            chat.wait_until_idle();
            // From now on, the user decides what the window shows.
            chat.nvim.input("G");
        }
        let full = "vim.cmd('redraw')
            local is_whole = vim.fn.line('w0') == 1 and vim.fn.winsaveview().skipcol == 0
            local empty = require('flemma.filling').empty(vim.api.nvim_get_current_win())
            return vim.fn.line('w$') == vim.fn.line('$') and (is_whole or empty == 0)";
        chat.nvim.wait_for("a full window", |nvim| nvim.lua(full, &[]) == true);
    }
}

/// The card of a call opens when it has run for a moment, and is closed when it is done.
#[test]
fn calls_that_run_move_no_text_above_them() {
    let round = |n: usize| {
        let command = format!("seq {n}1 {n}5; until rm go 2>/dev/null; do sleep 0.02; done");
        let input = json!({"label": null, "command": command, "timeout": null}).to_string();
        let stream = Stream::new().text(&["Let me look."]).tool_use(&format!("toolu_{n}"), "bash", &[&input]);
        reply(&stream.end("tool_use"))
    };
    let options = "tools = { auto_approve = { 'bash' } }";
    let replies = (1..=6).map(round).chain([prose(&["All is well."])]);
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, replies);
    chat.nvim.command("set lines=24");
    chat.nvim.lua(
        "_G.up = {}
         local win = vim.api.nvim_get_current_win()
         local top = vim.fn.line('w0')
         vim.api.nvim_create_autocmd('WinScrolled', { callback = function()
           local now = vim.fn.line('w0')
           if now < top and require('flemma.lock').is_locked(vim.fn.bufnr('notes.chat')) then table.insert(_G.up, { top, now }) end
           top = now
         end })",
        &[],
    );
    chat.nvim.input("<C-]>");
    for round in 1..=6 {
        chat.nvim.wait_for("an open card", |nvim| {
            let rows = nvim.screen();
            rows.iter().any(|row| row.trim_end() == format!("{round}5"))
                && !rows.iter().any(|row| row.contains("**Tool") || row == "```")
        });
        if round == 1 {
            assert!(chat.nvim.screen()[0].starts_with(" You"), "{:?}", chat.nvim.screen());
        }
        std::fs::write(chat.nvim.work().join("go"), "").unwrap();
        chat.nvim.wait_for("the next reply", |nvim| nvim.text().matches("@Assistant:").count() > round);
    }
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("All is well."));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua("return #_G.up", &[]), 0, "{}", chat.nvim.lua("return _G.up", &[]));
    // At the end, the window shows as much as it can.
    chat.nvim.wait_for("a full window", |nvim| {
        nvim.lua("vim.cmd('redraw') return vim.fn.line('w$') == vim.fn.line('$') and vim.fn.winline()", &[]) == 22
    });
}
