//! The omnifunc of conversations, with keys.

use super::{
    super::{
        chat::{Chat, Setup},
        http::{Gate, Reply},
        support::Nvim,
    },
    line, menu, start, wait_for_line, wait_for_menu,
};

#[test]
fn keys_complete_tools_files_and_roles() {
    let mut chat = start("@You:\nUse ");
    let nvim = &mut chat.nvim;
    nvim.input("@calc<C-x><C-o>");
    wait_for_menu(nvim, &["calculator", "calculator_async"]);
    nvim.wait_for_screen("off by default");
    nvim.input("<C-n><C-y>");
    wait_for_line(nvim, "Use @calculator_async");

    // Step by step through folders. The names come from another thread.
    nvim.input(" on @./s<C-x><C-o>");
    wait_for_line(nvim, "Use @calculator_async on @./src/");
    nvim.input("<C-x><C-o>");
    wait_for_menu(nvim, &["lib.rs", "main.rs"]);
    nvim.input("<C-n><C-y>, ");
    wait_for_line(nvim, "Use @calculator_async on @./src/main.rs, ");

    // A name with a blank. Its documentation is there, and files that git ignores are last.
    nvim.input("@./m<C-x><C-o>");
    wait_for_menu(nvim, &["my%20file.txt", "my%20notes.md", "made.o"]);
    nvim.wait_for_screen("5 B");
    let info = nvim.lua("return vim.fn.complete_info({ 'items' }).items[1]", &[]);
    assert_eq!(info["abbr"], "my file.txt");
    assert_eq!((&info["menu"], &info["info"]), (&"5 B".into(), &"".into()), "said once");
    nvim.input("<C-y>");
    wait_for_line(nvim, "Use @calculator_async on @./src/main.rs, @./my%20file.txt");

    // The text behind the cursor stays.
    nvim.input("<CR>(@./) and more<Esc>F/a<C-x><C-o>");
    wait_for_menu(nvim, &["src/", "my%20file.txt", "my%20notes.md", "notes.chat"]);
    nvim.input("<C-n><C-n><C-y>");
    wait_for_line(nvim, "(@./my%20notes.md) and more");

    nvim.input("<End><CR><CR>@Y<C-x><C-o>");
    wait_for_line(nvim, "@You:");
    nvim.input("<CR>```<CR>@<C-x><C-o>x");
    wait_for_line(nvim, "@x");
    assert_eq!(menu(nvim), [""; 0]);
    assert_eq!(nvim.messages(), "");
}

#[test]
fn keys_complete_options_in_frontmatter() {
    let mut chat = start("```lua\n```\n\n@You:\nHello\n");
    let nvim = &mut chat.nvim;
    nvim.input("<Esc>ggzooflemma.opt.th<C-x><C-o>");
    wait_for_line(nvim, "flemma.opt.thinking");
    nvim.input(" = \"m<C-x><C-o>");
    wait_for_menu(nvim, &["minimal", "medium", "max"]);
    nvim.input("<C-n><C-y>\"");
    wait_for_line(nvim, "flemma.opt.thinking = \"medium\"");
    nvim.input("<CR>flemma.opt.t<C-x><C-o>");
    wait_for_menu(nvim, &["temperature", "timeout", "thinking", "tool_protocol", "tools"]);
    let info = nvim.lua("return vim.fn.complete_info({ 'items' }).items[2].info", &[]);
    assert!(info.as_str().unwrap().contains("Seconds that a provider may send nothing."), "{info}");
    nvim.input("<C-e>ools.auto_approve:append(\"$<C-x><C-o>");
    wait_for_menu(nvim, &["$default", "$readonly"]);
    nvim.input("<C-n><C-y>\")<Esc>");
    wait_for_line(nvim, "flemma.opt.tools.auto_approve:append(\"$readonly\")");
    // It counts, so it was right.
    let status = nvim.lua("return require('flemma.status').lines(vim.api.nvim_get_current_buf())", &[]).to_string();
    assert!(status.contains("medium"), "{status}");
    // Files belong into messages.
    nvim.input("o-- @./<C-x><C-o>x");
    wait_for_line(nvim, "-- @./x");
    assert_eq!(nvim.messages(), "");
}

#[test]
fn a_late_answer_does_not_disturb_who_types_on() {
    let mut chat = start("@You:\nsee ");
    let nvim = &mut chat.nvim;
    // The answer comes when the test says so.
    nvim.lua(
        "local native = require('flemma.native')
         local call = native.call
         native.call = function(name, ...)
           if name ~= 'complete' then return call(name, ...) end
           local buf, line, column, lines, callback = ...
           return call(name, buf, line, column, lines, function(found)
             _G.answers = _G.answers or {}
             table.insert(_G.answers, function() callback(found) end)
           end)
         end",
        &[],
    );
    let answers = |nvim: &mut Nvim| nvim.lua("return #(_G.answers or {})", &[]) == 1;
    nvim.input("@./my<C-x><C-o>");
    nvim.wait_for("the answer", answers);
    nvim.lua("table.remove(_G.answers)()", &[]);
    wait_for_menu(nvim, &["my%20file.txt", "my%20notes.md"]);
    nvim.input("<C-e> and @./my<C-x><C-o>");
    nvim.wait_for("the answer", answers);
    nvim.input("own");
    wait_for_line(nvim, "see @./my and @./myown");
    nvim.lua("table.remove(_G.answers)()", &[]);
    assert_eq!(menu(nvim), [""; 0]);
    nvim.input(" @./my<C-x><C-o>");
    nvim.wait_for("the answer", answers);
    nvim.input("<Esc>");
    nvim.wait_for("Normal mode", |nvim| nvim.mode() == "n");
    nvim.lua("table.remove(_G.answers)()", &[]);
    assert_eq!(line(nvim), "see @./my and @./myown @./my");
    assert_eq!(nvim.messages(), "");
}

#[test]
fn a_locked_conversation_offers_nothing_without_an_error() {
    let gate = Gate::new();
    let setup = Setup { text: Some("@You:\nHello @ you\n"), ..Setup::default() };
    let mut chat = Chat::start(&setup, [Reply::stream().hold(&gate)]);
    chat.wait_until_idle();
    let nvim = &mut chat.nvim;
    let ask = "vim.api.nvim_win_set_cursor(0, { 2, 7 })
        local offered
        local source = require('flemma.integrations.blink').new()
        source:get_completions({ bufnr = 0, cursor = { 2, 7 } }, function(answer) offered = #answer.items end)
        return { require('flemma.completion').omnifunc(1, ''), offered }";
    let open = nvim.lua(ask, &[]);
    assert_eq!(open[0], 7);
    assert_ne!(open[1], 0);
    nvim.input("<C-]>");
    nvim.wait_for("the lock", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == false);
    assert_eq!(nvim.lua(ask, &[]), serde_json::json!([-3, 0]));
    let before = nvim.messages();
    nvim.lua("vim.cmd.startinsert()", &[]);
    nvim.input("<C-x><C-o><Esc>");
    nvim.wait_for("Normal mode", |nvim| nvim.mode() == "n");
    let said = nvim.messages().replacen(&before, "", 1);
    assert!(!said.contains("lua") && !said.contains("E5108"), "{said}");
    gate.open();
}

#[test]
fn the_users_own_omnifunc_is_kept() {
    let mut chat = start("@You:\n");
    let nvim = &mut chat.nvim;
    let own = "return vim.bo.omnifunc";
    assert_eq!(nvim.lua(own, &[]), "v:lua.require'flemma.completion'.omnifunc");
    nvim.input("<Esc>");
    nvim.command("setfiletype text");
    nvim.command("set filetype=text");
    assert_eq!(nvim.lua(own, &[]), "");
    nvim.command("set filetype=chat");
    assert_eq!(nvim.lua(own, &[]), "v:lua.require'flemma.completion'.omnifunc");
    nvim.command("set omnifunc=v:lua.mine");
    nvim.command("edit other.chat");
    assert_eq!(nvim.lua(own, &[]), "v:lua.mine");
    nvim.command("set filetype=text");
    assert_eq!(nvim.lua(own, &[]), "v:lua.mine");
}
