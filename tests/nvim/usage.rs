//! Usage of conversations: the float after a reply, the sums, the estimate, the status line.

use serde_json::{Value, json};

use super::{
    anthropic::{Stream, event, text_delta},
    chat::{Chat, Setup, prose, said},
    http::Reply,
    support::Nvim,
};

/// The scripted reply costs $0.0006 of this model: 12 tokens read anew, 4 from the cache, 3 to it, 34 written.
const KNOWN: &str = "model = 'claude-sonnet-4-5'";
const TOKENS: &str = "19 in (4 from cache, 3 to cache), 34 out";
const COST: &str = "$0.0006, session $0.0006";

fn known() -> Setup<'static> {
    Setup { options: KNOWN, ..Setup::default() }
}

/// The floats: their text, and the row of the screen on which the first line of it is.
fn floats(nvim: &mut Nvim) -> Vec<(String, u64)> {
    let found = nvim.lua(
        "local found = {}
         for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
           local config = vim.api.nvim_win_get_config(win)
           if config.relative ~= '' then
             local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false)
             found[#found + 1] = { vim.trim(table.concat(lines, '\\n')), config.row }
           end
         end
         return found",
        &[],
    );
    let found = found.as_array().cloned().unwrap_or_default();
    found.iter().map(|item| (item[0].as_str().unwrap().to_owned(), item[1].as_f64().unwrap() as u64)).collect()
}

fn wait_for_float(nvim: &mut Nvim) -> (String, u64) {
    nvim.wait_for("the float", |nvim| floats(nvim).len() == 1);
    floats(nvim).remove(0)
}

fn wait_for_none(nvim: &mut Nvim) {
    nvim.wait_for("the float to go", |nvim| floats(nvim).is_empty());
}

/// Runs everything that is scheduled by now.
fn settle(nvim: &mut Nvim) {
    nvim.lua("vim.schedule(function() _G.settled = true end)", &[]);
    nvim.wait_for("what was scheduled", |nvim| nvim.lua("return _G.settled", &[]) == true);
}

/// Sends and waits for the whole reply.
fn ask(chat: &mut Chat) {
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().trim_end().ends_with("@You:"));
    chat.wait_until_idle();
}

#[test]
fn a_reply_is_followed_by_what_it_used_until_the_next_key() {
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    ask(&mut chat);
    let (text, row) = wait_for_float(&mut chat.nvim);
    assert_eq!(text, format!("{TOKENS} \n {COST}"));
    assert!(row > 20, "{row}: it is below the end of the text: {:#?}", chat.nvim.screen());
    chat.nvim.wait_for_screen(COST);
    // The float does not take the focus.
    assert_eq!(chat.nvim.lua("return vim.api.nvim_win_get_config(0).relative", &[]), "");
    chat.nvim.input("iMore");
    wait_for_none(&mut chat.nvim);
    assert!(chat.nvim.text().trim_end().ends_with("@You:\nMore"), "{}", chat.nvim.text());
    assert_eq!(chat.nvim.messages(), "");
}

#[test]
fn the_usage_float_closes_by_itself_and_can_be_turned_off() {
    let options = format!("{KNOWN}, notify = {{ usage_timeout = 0.3 }}");
    let mut chat = Chat::start(&Setup { options: &options, ..Setup::default() }, [prose(&["Hi"])]);
    ask(&mut chat);
    wait_for_float(&mut chat.nvim);
    wait_for_none(&mut chat.nvim);

    let options = format!("{KNOWN}, notify = {{ usage = false }}");
    let mut chat = Chat::start(&Setup { options: &options, ..Setup::default() }, [prose(&["Hi"])]);
    chat.nvim.lua("vim.api.nvim_create_autocmd('WinNew', { callback = function() _G.opened = true end })", &[]);
    ask(&mut chat);
    settle(&mut chat.nvim);
    assert_eq!(chat.nvim.lua("return _G.opened == nil and #vim.api.nvim_list_wins()", &[]), 1);
    assert_eq!(chat.nvim.lua("return require('flemma.session').get().requests", &[]), 1);
}

#[test]
fn the_usage_float_does_not_cover_the_cursor() {
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    ask(&mut chat);
    wait_for_float(&mut chat.nvim);
    chat.nvim.request("nvim_win_set_cursor", &[json!(0), json!([1, 0])]);
    chat.nvim.wait_for("the lower corner", |nvim| floats(nvim).first().is_some_and(|(_, row)| *row > 20));
}

#[test]
fn the_usage_float_covers_text_only_where_there_is_no_room() {
    // The last line of the reply is the longest.
    let (short, long) = ("short\n".repeat(30), "x".repeat(100));
    let mut chat = Chat::start(&known(), [prose(&[&short, &long, "\n", &long])]);
    ask(&mut chat);
    // The upper corner is blank.
    let (text, row) = wait_for_float(&mut chat.nvim);
    assert!(text.starts_with(TOKENS) && row == 0, "{row}: {text}");
    assert!(chat.nvim.screen().iter().filter(|row| row.contains(&long)).count() == 2, "{:#?}", chat.nvim.screen());
    // Both corners are full, and the cursor is in the lower one.
    let mut chat = Chat::start(&known(), [prose(&[&format!("{long}\n").repeat(60)])]);
    ask(&mut chat);
    assert_eq!(wait_for_float(&mut chat.nvim).1, 0);
    chat.nvim.request("nvim_win_set_cursor", &[json!(0), json!([30, 0])]);
    chat.nvim.wait_for("the cursor's row", |nvim| nvim.lua("return vim.fn.winline()", &[]).as_u64() > Some(0));
    assert!(floats(&mut chat.nvim).len() <= 1);
}

#[test]
fn the_usage_float_closes_with_its_window() {
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    chat.nvim.command("botright new");
    chat.nvim.command("wincmd p");
    chat.nvim.lua("require('flemma.core').send_or_execute(); vim.cmd.wincmd('p')", &[]);
    let (text, row) = wait_for_float(&mut chat.nvim);
    assert!(text.starts_with(TOKENS) && row < 20, "{row}: {text}");
    assert_ne!(chat.nvim.lua("return vim.bo.filetype", &[]), "chat", "the user stays in the other window");
    // Another tab page does not show the conversation.
    chat.nvim.command("tabnew");
    wait_for_none(&mut chat.nvim);
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 3);
    assert_eq!(chat.nvim.messages(), "");
}

#[test]
fn only_and_quit_take_it_along() {
    for command in ["only", "quit"] {
        let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
        chat.nvim.command("botright new");
        chat.nvim.command("wincmd p");
        chat.nvim.lua("require('flemma.core').send_or_execute()", &[]);
        wait_for_float(&mut chat.nvim);
        chat.nvim.command(command);
        wait_for_none(&mut chat.nvim);
        assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 1, "{command}");
        assert_eq!(chat.nvim.messages(), "", "{command}");
    }
}

#[test]
fn the_usage_float_shrinks_or_is_left_out_without_room() {
    for (height, shown) in [(5, Some(format!("{TOKENS} \n {COST}"))), (3, Some(COST.to_owned())), (1, None)] {
        let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
        chat.nvim.command("botright new");
        chat.nvim.command("wincmd p");
        chat.nvim.command(&format!("resize {height}"));
        ask(&mut chat);
        settle(&mut chat.nvim);
        let shown: Vec<String> = shown.into_iter().collect();
        chat.nvim.wait_for(&format!("{shown:?} in {height} lines"), |nvim| {
            floats(nvim).into_iter().map(|(text, _)| text).collect::<Vec<_>>() == shown
        });
        assert_eq!(chat.nvim.messages(), "");
    }
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    chat.nvim.request("nvim_ui_try_resize", &[json!(12), json!(4)]);
    ask(&mut chat);
    settle(&mut chat.nvim);
    assert_eq!(floats(&mut chat.nvim), []);
    assert_eq!(chat.nvim.lua("return require('flemma.session').get().requests", &[]), 1);
}

#[test]
fn the_session_sums_tokens_and_dollars_and_can_be_reset() {
    let mut chat = Chat::start(&known(), [prose(&["Hi"]), prose(&["Ho"])]);
    chat.nvim.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'FlemmaRequestFinished', callback = function(event)
           _G.finished = event.data.usage
         end })",
        &[],
    );
    ask(&mut chat);
    let request = chat.nvim.lua("return require('flemma.session').requests()[1]", &[]);
    assert_eq!(chat.nvim.lua("return _G.finished", &[]), request);
    let dollars = 558.45e-6;
    let close = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-12;
    assert!(close(&request["cost"], dollars), "{request}");
    for (key, value) in [
        ("provider", json!("anthropic")),
        ("model", json!("claude-sonnet-4-5")),
        ("input", json!(12)),
        ("cache_read", json!(4)),
        ("cache_write", json!(3)),
        ("output", json!(34)),
        ("complete", json!(true)),
    ] {
        assert_eq!(request[key], value, "{key}");
    }
    assert!(request["time"].as_u64().unwrap() > 1_700_000_000);

    chat.nvim.input("iMore<Esc>");
    ask(&mut chat);
    let totals = chat.nvim.lua("return require('flemma.session').get()", &[]);
    assert_eq!((&totals["requests"], &totals["output"], &totals["unpriced"]), (&json!(2), &json!(68), &json!(0)));
    assert!(close(&totals["cost"], 2.0 * dollars), "{totals}");
    assert_eq!(chat.nvim.lua("return require('flemma.session').get(0)", &[]), totals);
    let other = chat.nvim.lua("return require('flemma.session').get(vim.api.nvim_create_buf(true, false))", &[]);
    assert_eq!(other["requests"], 0);

    chat.nvim.lua("require('flemma.session').reset()", &[]);
    assert_eq!(chat.nvim.lua("return require('flemma.session').get().requests", &[]), 0);
    assert_eq!(chat.nvim.lua("return #require('flemma.session').requests()", &[]), 0);
}

#[test]
fn a_stopped_reply_counts_as_far_as_it_arrived() {
    for stop in ["call feedkeys(\"\\<C-c>\")", "edit!", "bdelete!"] {
        let begin = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
        let reply = Reply::stream().chunk(Stream::new().events()[0].as_str()).chunk(event(&begin));
        let mut chat = Chat::start(&known(), [reply.chunk(text_delta(0, "Well")).hang()]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the first word", |nvim| nvim.text().contains("Well"));
        chat.nvim.command(stop);
        let one = |nvim: &mut Nvim| nvim.lua("return #require('flemma.session').requests()", &[]) == 1;
        chat.nvim.wait_for("the record", one);
        let request = chat.nvim.lua("return require('flemma.session').requests()[1]", &[]);
        let expected = (&json!(false), &json!(12), &json!(1));
        assert_eq!((&request["complete"], &request["input"], &request["output"]), expected, "{stop}");
    }
}

#[test]
fn a_late_estimate_does_not_disturb_typing() {
    let mut chat = Chat::start(&known(), []);
    chat.nvim.input("GoMore");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("More"));
    chat.nvim.command("Flemma usage:estimate");
    chat.nvim.wait_for("the estimate", |nvim| said(nvim).contains("an estimate, not a count"));
    chat.nvim.input(" and more");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("More and more"));
}

#[test]
fn usage_shows_a_table_by_model() {
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    chat.nvim.command("Flemma usage");
    assert_eq!(floats(&mut chat.nvim)[0].0, "no requests yet");
    chat.nvim.input("q");
    wait_for_none(&mut chat.nvim);
    ask(&mut chat);
    wait_for_float(&mut chat.nvim);
    chat.nvim.input(":Flemma usage<CR>");
    chat.nvim.wait_for_screen("anthropic claude-sonnet-4-5");
    chat.nvim.wait_for_screen("this conversation");
    // On a narrow screen each figure is on a row with its name.
    chat.nvim.input("q");
    wait_for_none(&mut chat.nvim);
    chat.nvim.request("nvim_ui_try_resize", &[json!(40), json!(24)]);
    chat.nvim.input(":Flemma usage<CR>");
    chat.nvim.wait_for_screen("requests    1");
}

#[test]
fn an_estimate_is_marked_as_one_and_sends_nothing() {
    let text = format!("@You:\n{}\n", "x".repeat(350_000));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..known() }, []);
    chat.nvim.command("Flemma usage:estimate");
    chat.nvim.wait_for_screen("anthropic claude-sonnet-4-5: an estimate, not a count");
    chat.nvim.wait_for_screen("of the model's context of 200,000 tokens");
    assert_eq!(chat.nvim.messages(), "");
    assert_eq!(chat.server.requests().len(), 0);
}

#[test]
fn a_long_estimate_runs_in_slices_and_warns_of_overflow() {
    let text = format!("@You:\n{}", "a line of a few words\n\n@You:\n".repeat(30_000));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..known() }, []);
    chat.nvim.command("Flemma usage:estimate");
    chat.nvim.wait_for_screen("The conversation would not fit: request and reply are about ");
    chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("The conversation would not fit"));
}

#[test]
fn the_status_line_shows_model_work_and_cost() {
    let lua = "vim.o.laststatus = 2
               vim.o.statusline = '%{%v:lua.require\\'flemma.statusline\\'.component()%}|'";
    let gate = super::http::Gate::new();
    let stream = Stream::new().text(&["Hi"]).end("end_turn");
    let reply = stream.events().iter().fold(Reply::stream().hold(&gate), |reply, event| reply.chunk(event.as_str()));
    let mut chat = Chat::start(&Setup { lua, ..known() }, [reply]);
    chat.nvim.wait_for_screen("claude-sonnet-4-5|");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("claude-sonnet-4-5 · waiting, 0 s|");
    // Nothing else happens meanwhile.
    chat.nvim.wait_for_screen("claude-sonnet-4-5 · waiting, 2 s|");
    assert_eq!(chat.nvim.lua("return require('flemma.statusline').overview()", &[]), "1 working");
    assert_eq!(chat.nvim.lua("return require('flemma.statusline').queued()", &[]), "");
    chat.nvim.command("Flemma queue one");
    chat.nvim.command("Flemma queue two");
    chat.nvim.wait_for_screen(" s · 2 queued|");
    assert_eq!(chat.nvim.lua("return require('flemma.statusline').queued()", &[]), "2 queued");
    chat.nvim.command("Flemma unqueue");
    chat.nvim.wait_for_screen(" s · 1 queued|");
    chat.nvim.command("Flemma unqueue");
    gate.open();
    chat.nvim.wait_for_screen(" tokens · $0.0006|");
    assert_eq!(chat.nvim.lua("return require('flemma.statusline').overview()", &[]), "");
    chat.nvim.command("enew!");
    for part in ["component", "queued"] {
        assert_eq!(chat.nvim.lua("return require('flemma.statusline')[...]()", &[part.into()]), "");
    }
}

#[test]
fn between_the_rounds_of_a_turn_no_float_is_shown() {
    let calls = super::chat::call("toolu_1", "calculator", &json!({ "operation": "add", "left": 1, "right": 2 }));
    let gate = super::http::Gate::new();
    let stream = Stream::new().text(&["Three"]).end("end_turn");
    let last = stream.events().iter().fold(Reply::stream().hold(&gate), |reply, event| reply.chunk(event.as_str()));
    let options = format!("{KNOWN}, tools = {{ require_approval = false }}");
    let mut chat = Chat::start(&Setup { options: &options, ..Setup::default() }, [calls, last]);
    chat.nvim.lua("vim.api.nvim_create_autocmd('WinNew', { callback = function() _G.opened = true end })", &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("**Tool Result:**"));
    chat.server.wait_for_requests(2);
    settle(&mut chat.nvim);
    assert_eq!(chat.nvim.lua("return _G.opened == nil", &[]), true);
    gate.open();
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("Three"));
    assert!(wait_for_float(&mut chat.nvim).0.contains("session $0.0011"));
    // Half of the width is enough.
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    chat.nvim.request("nvim_ui_try_resize", &[json!(60), json!(24)]);
    ask(&mut chat);
    assert_eq!(wait_for_float(&mut chat.nvim).0, COST);
}
