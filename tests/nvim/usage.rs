//! Usage of conversations: the sums, the page, the estimate, the status line.

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, said},
    http::Reply,
};

/// The scripted reply costs $0.0006 of this model: 12 tokens read anew, 4 from the cache, 3 to it, 34 written.
const KNOWN: &str = "model = 'claude-sonnet-4-5'";

fn known() -> Setup<'static> {
    Setup { options: KNOWN, ..Setup::default() }
}

/// Sends and waits for the whole reply.
fn ask(chat: &mut Chat) {
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().trim_end().ends_with("@You:"));
    chat.wait_until_idle();
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
fn usage_shows_a_table_by_model() {
    let mut chat = Chat::start(&known(), [prose(&["Hi"])]);
    chat.nvim.command("Flemma usage");
    assert_eq!(chat.nvim.text(), "no requests yet\n");
    chat.nvim.input("q");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
    ask(&mut chat);
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 1, "nothing is shown after a reply");
    chat.nvim.input(":Flemma usage<CR>");
    chat.nvim.wait_for_screen("anthropic claude-sonnet-4-5");
    chat.nvim.wait_for_screen("this conversation");
    // On a narrow screen each figure is on a row with its name.
    chat.nvim.input("q");
    chat.nvim.request("nvim_ui_try_resize", &[json!(40), json!(24)]);
    chat.nvim.input(":Flemma usage<CR>");
    chat.nvim.wait_for_screen("requests    1");
    chat.nvim.command("close");
    // Where no window fits, it is a message.
    chat.nvim.request("nvim_ui_try_resize", &[json!(80), json!(3)]);
    chat.nvim.wait_for("a low screen", |nvim| nvim.lua("return vim.o.lines", &[]) == 3);
    chat.nvim.command("Flemma usage");
    chat.nvim.wait_for("the figures", |nvim| said(nvim).contains("anthropic claude-sonnet-4-5"));
}

#[test]
fn an_estimate_is_a_message_and_sends_nothing() {
    let text = format!("@You:\n{}\n", "x".repeat(350_000));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..known() }, []);
    chat.nvim.input("GoMore");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("More"));
    chat.nvim.command("Flemma usage:estimate");
    let words = "anthropic claude-sonnet-4-5: an estimate, not a count; about ";
    chat.nvim.wait_for("the estimate", |nvim| said(nvim).contains(words));
    chat.nvim.wait_for("its context", |nvim| said(nvim).contains("of the model's context of 200,000 tokens"));
    chat.nvim.input(" and more");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("More and more"));
    assert_eq!(chat.server.requests().len(), 0);
}

#[test]
fn a_limit_on_money_pauses_until_the_next_key() {
    let options = "pricing = { ['claude-test'] = { input = 0, output = 1000 } }, budget = { turn = 0.05, day = 0.16 }, \
                   tools = { auto_approve = { 'calculator' } }";
    // Each costs 0.034 dollars.
    let call = |n: usize| {
        let stream = Stream::new().tool_use(&format!("c{n}"), "calculator", &[&format!(r#"{{"expression":"{n}"}}"#)]);
        Reply::stream().chunk(stream.end("tool_use").bytes())
    };
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, (0..8).map(call));
    let pauses = [
        (2, "Autopilot paused: this turn has cost 0.07 of 0.05 USD (budget.turn); press Ctrl-] to go on."),
        (4, "Autopilot paused: this turn has cost 0.07 of 0.05 USD (budget.turn); press Ctrl-] to go on."),
        (5, "Autopilot paused: this day has cost 0.17 of 0.16 USD (budget.day); press Ctrl-] to go on."),
        // The key has allowed as much again.
        (7, "Autopilot paused: this turn has cost 0.07 of 0.05 USD (budget.turn); press Ctrl-] to go on."),
    ];
    for (requests, words) in pauses {
        chat.nvim.command("messages clear");
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for(words, |nvim| said(nvim).contains(words));
        chat.wait_until_idle();
        assert_eq!(chat.server.requests().len(), requests);
    }
    // Another editor knows what was spent today. Its user is asked before anything is sent, and a model without a price is not counted.
    let file = chat.nvim.work().join("other.chat");
    std::fs::write(&file, "@You:\nHello\n").unwrap();
    let mut other = Chat::another(&chat, &file, (options, ""), [prose(&["hi"]), prose(&["ho"])]);
    other.nvim.input("<C-]>");
    let words =
        "Not sent: this day has cost 0.24 of 0.16 USD (budget.day). Press Ctrl-] again to send it all the same.";
    other.nvim.wait_for(words, |nvim| said(nvim).contains(words));
    assert!(other.server.requests().is_empty());
    other.send_until("@Assistant:\nhi");
    other.nvim.command("Flemma switch anthropic unheard-of");
    other.nvim.input("Gothanks<Esc><C-]>");
    let words = "Not sent: the price of unheard-of is not known, so `budget` does not count it.";
    other.nvim.wait_for(words, |nvim| said(nvim).contains(words));
    other.send_until("@Assistant:\nho");
}

#[test]
fn the_key_ends_insert_mode_while_the_day_is_counted() {
    let options = "pricing = { ['claude-test'] = { input = 0, output = 1 } }, budget = { day = 10 }";
    let call = Stream::new().tool_use("c", "bash", &[r#"{"label":null,"command":"true","timeout":null}"#]);
    let reply = Reply::stream().chunk(call.end("tool_use").bytes());
    // Nothing else has to be found first.
    let text = "@You:\nHi\n\n@Assistant:\nYes.\n\n@You:\n";
    let mut chat = Chat::start(&Setup { options, text: Some(text), ..Setup::default() }, [reply]);
    chat.nvim.input("GoHello<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.mode(), "n", "keys decide about the call now");
}
