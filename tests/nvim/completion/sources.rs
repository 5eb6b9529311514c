//! The sources for completion plugins, driven through the interface that the plugins document.
//!
//! blink.cmp: <https://main.cmp.saghen.dev/development/source-boilerplate>. nvim-cmp: `:help cmp-develop`.

use serde_json::{Value, json};

use super::{super::support::Nvim, line, start};

/// Asks a source at the cursor. `answer` is what it called back with, as the plugin got it.
const ASK: &str = "
  local plugin = ...
  local cursor = vim.api.nvim_win_get_cursor(0)
  local buf = vim.api.nvim_get_current_buf()
  local answers = {}
  local function callback(answer) answers[#answers + 1] = answer end
  if plugin == 'blink' then
    local source = require('flemma.integrations.blink').new({}, { name = 'Flemma', module = 'flemma.integrations.blink' })
    assert(source:enabled())
    _G.cancel = source:get_completions({
      bufnr = buf, cursor = cursor, line = vim.api.nvim_get_current_line(), trigger = { kind = 'manual' },
    }, callback)
  else
    local source = require('flemma.integrations.cmp').new()
    assert(source:is_available() and source:get_position_encoding_kind() == 'utf-8')
    local before = vim.api.nvim_get_current_line():sub(1, cursor[2])
    source:complete({
      offset = (vim.regex([[\\%(]] .. source:get_keyword_pattern() .. [[\\m\\)$]]):match_str(before) or #before) + 1,
      context = {
        bufnr = buf, cursor_before_line = before,
        cursor = { row = cursor[1], col = cursor[2] + 1, line = cursor[1] - 1, character = vim.str_utfindex(before, 'utf-16') },
      },
      completion_context = { triggerKind = 1 },
    }, callback)
  end
  assert(vim.wait(10000, function() return #answers > 0 end, 1))
  assert(#answers == 1)
  return answers[1]";

/// Takes an item as a plugin does: its edit, with the range that ends at the cursor or with the whole word.
const TAKE: &str = "
  local item, range = ...
  local edit = { newText = item.textEdit.newText, range = item.textEdit[range] }
  vim.lsp.util.apply_text_edits({ edit }, vim.api.nvim_get_current_buf(), 'utf-8')";

fn ask(nvim: &mut Nvim, plugin: &str) -> Value {
    nvim.lua(ASK, &[plugin.into()])
}

/// The item with this label.
fn item<'a>(answer: &'a Value, label: &str) -> &'a Value {
    let items = answer["items"].as_array().unwrap();
    items.iter().find(|item| item["label"] == label).unwrap_or_else(|| panic!("no {label} in {answer}"))
}

/// A text with the cursor at `¦`.
fn put(nvim: &mut Nvim, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let at = lines.iter().position(|line| line.contains('¦')).unwrap();
    let column = lines[at].find('¦').unwrap();
    let lines: Vec<String> = lines.iter().map(|line| line.replace('¦', "")).collect();
    nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(-1), json!(false), json!(lines)]);
    nvim.request("nvim_win_set_cursor", &[json!(0), json!([at + 1, column])]);
}

#[test]
fn both_sources_offer_the_same_and_replace_the_right_text() {
    let mut chat = start("@You:\n");
    let nvim = &mut chat.nvim;
    // nvim-cmp is told the name of a kind.
    let kind = |item: &Value| item["cmp"]["kind_text"].as_str().map_or_else(|| item["kind"].clone(), Value::from);
    let blink = ("blink", [json!(17), json!(3), json!(10)]);
    for (plugin, kinds) in [blink, ("cmp", ["File", "Function", "Property"].map(Value::from))] {
        // Columns are bytes, also behind other letters than ASCII.
        put(nvim, "@You:\nGrüße 漢字 @./my¦ and more");
        let answer = ask(nvim, plugin);
        let file = item(&answer, "my file.txt");
        assert_eq!((&kind(file), &file["detail"]), (&kinds[0], &json!("5 B")));
        assert_eq!(file["documentation"], Value::Null, "its size is said once");
        // The filter of a plugin compares what was typed with this.
        assert_eq!((&file["filterText"], &file["insertTextFormat"]), (&json!("my%20file.txt"), &json!(1)));
        nvim.lua(TAKE, &[file.clone(), "insert".into()]);
        assert_eq!(line(nvim), "Grüße 漢字 @./my%20file.txt and more", "{plugin}");

        put(nvim, "@You:\nsee @./sr¦ong/main.rs");
        let answer = ask(nvim, plugin);
        nvim.lua(TAKE, &[item(&answer, "src/").clone(), "replace".into()]);
        assert_eq!(line(nvim), "see @./src/main.rs", "{plugin}");

        put(nvim, "@You:\nUse @¦");
        let answer = ask(nvim, plugin);
        assert_eq!(kind(item(&answer, "bash")), kinds[1]);
        nvim.lua(TAKE, &[item(&answer, "bash").clone(), "insert".into()]);
        assert_eq!(line(nvim), "Use @bash");

        put(nvim, "```lua\nflemma.opt.thin¦\n```\n\n@You:\nx");
        let answer = ask(nvim, plugin);
        let thinking = item(&answer, "thinking");
        assert_eq!(kind(thinking), kinds[2]);
        let documentation = thinking["documentation"]["value"].as_str().unwrap();
        assert!(documentation.contains("How much the model may think."), "{documentation}");
        nvim.lua(TAKE, &[thinking.clone(), "insert".into()]);
        assert_eq!(line(nvim), "flemma.opt.thinking");

        put(nvim, "@You:\n```\n@¦\n```");
        assert_eq!(ask(nvim, plugin)["items"], json!([]), "{plugin}");
    }
    // The order is ours. nvim-cmp looks at the kinds first.
    put(nvim, "@You:\n@./¦");
    let answer = ask(nvim, "cmp");
    let items = answer["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["kind"] == items[0]["kind"]), "{items:?}");
    let sorted: Vec<_> = items.iter().map(|item| &item["sortText"]).collect();
    assert!(sorted.is_sorted_by_key(|text| text.as_str().unwrap().to_owned()), "{sorted:?}");
    assert_eq!(nvim.messages(), "");
}

#[test]
fn a_large_folder_is_asked_for_again() {
    let mut chat = start("@You:\nsee ");
    let folder = chat.nvim.work().join("many");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..1_000 {
        std::fs::write(folder.join(format!("f{number:03}")), "").unwrap();
    }
    let nvim = &mut chat.nvim;
    for (typed, is_partial) in [("@./many/¦", true), ("@./many/f99¦", false)] {
        put(nvim, &format!("@You:\n{typed}"));
        let answer = ask(nvim, "blink");
        assert_eq!(answer["is_incomplete_forward"], is_partial, "{typed}");
        assert_eq!(answer["is_incomplete_backward"], is_partial, "{typed}");
        let answer = ask(nvim, "cmp");
        assert_eq!(answer["isIncomplete"], is_partial, "{typed}");
    }
}

#[test]
fn a_source_belongs_to_conversations_and_can_be_cancelled() {
    let mut chat = start("@You:\nsee @./");
    let nvim = &mut chat.nvim;
    // A cancelled request stays silent.
    let counted = nvim.lua(
        "local source = require('flemma.integrations.blink').new()
         local count, other = 0, nil
         local context = { bufnr = vim.api.nvim_get_current_buf(), cursor = { 2, 7 } }
         local cancel = source:get_completions(context, function() count = count + 1 end)
         cancel()
         source:get_completions(context, function(answer) other = answer end)
         assert(vim.wait(10000, function() return other end, 1))
         return { count, #other.items > 0 }",
        &[],
    );
    assert_eq!(counted, json!([0, true]));
    nvim.input("<Esc>");
    nvim.command("enew");
    let used = nvim.lua(
        "local answer
         local blink, cmp = require('flemma.integrations.blink').new(), require('flemma.integrations.cmp').new()
         blink:get_completions({ bufnr = vim.api.nvim_get_current_buf(), cursor = { 1, 0 } }, function(got) answer = got end)
         return { blink:enabled(), cmp:is_available(), #answer.items }",
        &[],
    );
    assert_eq!(used, json!([false, false, 0]));
}
