//! Options changed at run time: `:Flemma switch`, `autopilot:…`, `logging:…`.

use std::net::TcpListener;

use serde_json::json;

use super::{
    chat::{Chat, Setup, prose, said},
    completions,
    http::{Gate, Reply, Server},
    support::Nvim,
};

/// A user's preset, and a Chat Completions server at this address in addition to the one of `setup`.
fn with_server(base_url: &str) -> String {
    format!(
        "require('flemma').setup({{ provider = 'anthropic', model = 'claude-test',
           parameters = {{ anthropic = {{ base_url = _G.base }}, openai_compatible = {{ base_url = '{base_url}' }} }},
           presets = {{ ['$local'] = 'openai_compatible qwen3 temperature=0.5' }} }})"
    )
}

/// An editor with a conversation with Anthropic, and a second server that can be switched to.
fn start(text: &str, anthropic: impl IntoIterator<Item = Reply>, base_url: &str) -> Chat {
    let base = "_G.base = require('flemma').options().parameters.anthropic.base_url";
    let lua = format!("{base}\n{}", with_server(base_url));
    Chat::start(&Setup { text: Some(text), lua: &lua, ..Setup::default() }, anthropic)
}

fn completion(text: &str) -> Reply {
    Reply::stream().chunk(completions::Stream::new().text(&[text]).end("stop").bytes())
}

fn status(nvim: &mut Nvim) -> String {
    let lines = nvim.lua("return require('flemma.status').lines(vim.api.nvim_get_current_buf())", &[]);
    let lines: Vec<&str> = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// Waits until a message was said.
fn wait_for_words(nvim: &mut Nvim, words: &str) {
    nvim.wait_for(&format!("the message `{words}`"), |nvim| said(nvim).contains(words));
}

/// Answers the pickers with the items that begin so, one after the other, and notes what they offered.
const PICK: &str = "
  local wanted = { ... }
  _G.offered = {}
  vim.ui.select = function(items, options, choose)
    local format = options.format_item or tostring
    local labels = vim.tbl_map(format, items)
    table.insert(_G.offered, labels)
    local start = table.remove(wanted, 1)
    for n, label in ipairs(labels) do
      if vim.startswith(label, start) then return choose(items[n], n) end
    end
    choose(nil)
  end";

fn offered(nvim: &mut Nvim) -> Vec<Vec<String>> {
    serde_json::from_value(nvim.lua("return _G.offered", &[])).unwrap()
}

#[test]
fn a_switch_applies_to_all_conversations() {
    let local = Server::start([completion("from here")]);
    let mut chat = start("@You:\nHello\n", [prose(&["from there"])], &format!("{}/v1", local.base_url()));
    assert!(status(&mut chat.nvim).contains("provider anthropic setup\nmodel claude-test setup\n"));
    chat.send_until("from there");

    chat.nvim.command("Flemma switch openai_compatible qwen3 max_tokens=77");
    wait_for_words(&mut chat.nvim, "conversations now use openai_compatible, qwen3, max_tokens 77");
    let status_now = status(&mut chat.nvim);
    assert!(
        status_now.contains("provider openai_compatible runtime\nmodel qwen3 runtime\nmax_tokens 77 runtime\n"),
        "{status_now}"
    );
    assert_eq!(chat.nvim.lua("return require('flemma').options().model", &[]), "qwen3");
    chat.nvim.input("iAgain<Esc><C-]>");
    chat.nvim.wait_for("the second reply", |nvim| nvim.text().contains("from here"));
    chat.wait_until_idle();
    let body = local.wait_for_requests(1)[0].json();
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("qwen3"), &json!(77)));

    // `setup` forgets it.
    chat.nvim.lua(&with_server("http://localhost:1/v1"), &[]);
    assert!(status(&mut chat.nvim).contains("provider anthropic setup\nmodel claude-test setup\n"));
}

#[test]
fn a_preset_is_switched_to_by_its_name_and_completed() {
    let mut chat = start("@You:\nHello\n", [], "http://localhost:1/v1");
    let complete = |nvim: &mut Nvim, line: &str| -> Vec<String> {
        serde_json::from_value(nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", &[line.into()])).unwrap()
    };
    assert_eq!(complete(&mut chat.nvim, "Flemma switch $"), ["$local"]);
    assert_eq!(complete(&mut chat.nvim, "Flemma switch ant"), ["anthropic"]);
    assert!(complete(&mut chat.nvim, "Flemma switch anthropic ").contains(&"claude-opus-5-5".to_owned()));
    assert_eq!(
        complete(&mut chat.nvim, "Flemma switch anthropic claude-x thinking=m"),
        ["thinking=minimal", "thinking=medium", "thinking=max"]
    );
    chat.nvim.command("Flemma switch $local");
    wait_for_words(&mut chat.nvim, "conversations now use openai_compatible, qwen3, temperature 0.5");
}

#[test]
fn switch_without_arguments_opens_two_pickers() {
    let mut chat = start("@You:\nHello\n", [], "http://localhost:1/v1");
    chat.nvim.lua(PICK, &["openai".into(), "gpt-6-astra".into()]);
    chat.nvim.command("Flemma switch");
    wait_for_words(&mut chat.nvim, "conversations now use openai, gpt-6-astra");
    let shown = offered(&mut chat.nvim);
    assert_eq!(shown[0][1], "anthropic (now: claude-test)");
    assert_eq!(shown[0].last().unwrap(), "$local: openai_compatible, qwen3, temperature 0.5");
    assert_eq!(shown[1].last().unwrap(), "another…");

    chat.nvim.lua(PICK, &["$local".into()]);
    chat.nvim.command("Flemma switch");
    wait_for_words(&mut chat.nvim, "conversations now use openai_compatible, qwen3");

    chat.nvim.lua(PICK, &["vertex".into(), "another".into()]);
    chat.nvim.lua("vim.ui.input = function(_, take) take(' gemini-9 ') end", &[]);
    chat.nvim.command("Flemma switch");
    wait_for_words(&mut chat.nvim, "conversations now use vertex, gemini-9");
    // Nothing picked, nothing changed.
    chat.nvim.lua(PICK, &["nobody".into()]);
    chat.nvim.command("Flemma switch");
    assert!(status(&mut chat.nvim).contains("model gemini-9 runtime\n"));
}

#[test]
fn a_self_hosted_server_lists_its_own_models() {
    let list = json!({"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "llama3.3"}]});
    let local = Server::start([Reply::json(200, &list)]);
    let mut chat = start("@You:\nHello\n", [], &format!("{}/v1", local.base_url()));
    chat.nvim.lua(PICK, &["llama".into()]);
    // There is no default model, so the picker is opened.
    chat.nvim.command("Flemma switch openai_compatible max_tokens=5");
    wait_for_words(&mut chat.nvim, "conversations now use openai_compatible, llama3.3, max_tokens 5");
    assert_eq!(offered(&mut chat.nvim), [["qwen3:8b", "llama3.3", "another…"]]);
    let request = &local.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/models"));
}

#[test]
fn a_late_list_of_models_takes_no_input() {
    let list = json!({"object": "list", "data": [{"id": "qwen3:8b"}]});
    let gate = Gate::new();
    let held = || Reply::json(200, &list).hold(&gate);
    let local = Server::start([held(), held(), held()]);
    let mut chat = start("@You:\nHello\n", [], &format!("{}/v1", local.base_url()));
    chat.nvim.lua(PICK, &["qwen".into()]);
    chat.nvim.command("Flemma switch openai_compatible");
    local.wait_for_requests(1);
    // Ctrl-C cancels the question. A list that arrives later opens no picker.
    chat.nvim.input("<C-c>");
    wait_for_words(&mut chat.nvim, "cancelled: the request for the models of openai_compatible");
    chat.nvim.command("Flemma switch openai_compatible");
    local.wait_for_requests(2);
    chat.nvim.input("Gotyping goes on");
    gate.open();
    wait_for_words(&mut chat.nvim, "the models of openai_compatible have arrived");
    assert!(offered(&mut chat.nvim).is_empty());
    chat.nvim.input("<Esc>");
    assert!(chat.nvim.text().contains("typing goes on"));
    chat.nvim.command("Flemma switch openai_compatible");
    wait_for_words(&mut chat.nvim, "conversations now use openai_compatible, qwen3:8b");
}

#[test]
fn a_server_that_lists_no_models_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut chat = start("@You:\nHello\n", [], &format!("http://{address}/v1"));
    chat.nvim.lua(PICK, &["openai_compatible".into()]);
    chat.nvim.command("Flemma switch");
    wait_for_words(&mut chat.nvim, &format!("the models of openai_compatible: {address} refused the connection"));
    assert_eq!(offered(&mut chat.nvim).len(), 1);

    let broken = Server::start([Reply::status(404).chunk("no such page")]);
    let mut chat = start("@You:\nHello\n", [], &format!("{}/v1", broken.base_url()));
    chat.nvim.command("Flemma switch openai_compatible");
    wait_for_words(&mut chat.nvim, "no such page");
    assert!(status(&mut chat.nvim).contains("provider anthropic setup\n"));
}

#[test]
fn autopilot_is_turned_off_and_on_again() {
    let mut chat = Chat::start(&Setup::default(), []);
    for (command, words) in [
        ("status", "autopilot is on here (default): up to 100 requests for each key press"),
        ("disable", "autopilot is off: conversations wait for you after each step"),
        ("status", "autopilot is off here (runtime): press Ctrl-] for each step"),
        ("enable", "autopilot is on: "),
        ("status", "autopilot is on here (runtime): up to 100 requests"),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.command(&format!("Flemma autopilot:{command}"));
        wait_for_words(&mut chat.nvim, words);
    }
}

#[test]
fn a_log_can_be_started_opened_and_stopped() {
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let mut chat = Chat::start(&Setup::default(), [Reply::json(400, &refusal)]);
    chat.nvim.command("Flemma logging:open");
    wait_for_words(&mut chat.nvim, "`:Flemma logging:enable` starts one");
    chat.nvim.command("Flemma logging:enable");
    wait_for_words(&mut chat.nvim, "logging to ");
    chat.nvim.wait_for("the log", |nvim| {
        nvim.lua("return vim.uv.fs_stat(require('flemma.native').call('path', 'log')) ~= nil", &[]) == true
    });
    chat.nvim.command("Flemma logging:open");
    assert_eq!(chat.nvim.lua("return vim.fn.expand('%:t')", &[]), "flemma.log");
    chat.nvim.command("close");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the request in the log", |nvim| {
        let log =
            nvim.lua("return table.concat(vim.fn.readfile(require('flemma.native').call('path', 'log')), '\\n')", &[]);
        let log = log.as_str().unwrap_or_default();
        log.contains("notes.chat: request to Anthropic, model ") && log.contains("ended without a complete reply")
    });
    chat.nvim.command("Flemma logging:disable");
    wait_for_words(&mut chat.nvim, "logging is off");
    assert_eq!(chat.nvim.lua("return require('flemma').options().logging.enabled", &[]), false);
}
