//! A plug of several pages: loaded as they are, in whatever order, and what its tools write.
//!
//! The pages are written for this test. They do what those of published plugs do.

use serde_json::json;

use super::{OPTIONS, VAULT, with_tools};
use crate::{
    chat::{Chat, said},
    codecompanion::{answered, results, with_calls},
};

const PAGES: &[(&str, &str)] = &[
    ("vault/Library/Base.md", include_str!("../../fixtures/silverbullet/Base.md")),
    ("vault/Library/Commands.md", include_str!("../../fixtures/silverbullet/Commands.md")),
    ("vault/Library/Diary.md", include_str!("../../fixtures/silverbullet/Diary.md")),
    ("vault/Library/Entries.md", include_str!("../../fixtures/silverbullet/Entries.md")),
];

/// A conversation with the plug's pages, which are loaded by this Lua.
fn plug(calls: &[(&str, serde_json::Value)], lua: &str) -> Chat {
    let files = [VAULT, PAGES].concat();
    let load = "_G.sb = require('flemma.compat.silverbullet')
        _G.load_pages = function(...)
          local ok = true
          for _, name in ipairs({ ... }) do ok = sb.load('vault/Library/' .. name) and ok end
          return ok
        end";
    with_calls(calls, OPTIONS, &format!("{load} {lua}"), &files)
}

/// The tools of these pages that models are offered.
fn registered(chat: &mut Chat) -> serde_json::Value {
    chat.nvim.lua(
        "local found = {}
         for _, tool in ipairs(require('flemma.tools').get_all()) do
           if tool.name:find('_entr') or tool.name == 'own' then found[#found + 1] = tool.name end
         end
         table.sort(found)
         return found",
        &[],
    )
}

#[test]
fn the_pages_of_a_plug_are_loaded_by_their_priority() {
    let mut chat = plug(&[("count_entries", json!({ "page": "Projects/Plan" }))], "_G.loaded = load_pages('')");
    assert_eq!((chat.nvim.lua("return loaded", &[]), said(&mut chat.nvim).as_str()), (json!(true), ""));
    assert_eq!(registered(&mut chat), json!(["add_entry", "count_entries"]));
    let description = "return require('flemma.tools').get('add_entry').description";
    assert_eq!(
        chat.nvim.lua(description, &[]),
        "Add an entry to a page of the diary. An entry is one line.",
        "what has the higher priority runs first"
    );
    assert_eq!(results(&mut chat), [("1".to_owned(), false)]);
}

#[test]
fn no_page_takes_away_what_another_has_registered() {
    let own = "sb.ai.tools.own = { description = 'x', handler = function() return 'own' end } ";
    for order in [
        "'Base.md', 'Entries.md', 'Diary.md', 'Commands.md'",
        "'Entries.md', 'Diary.md', 'Commands.md', 'Base.md'",
        "'Commands.md', 'Entries.md', 'Base.md', 'Diary.md', 'Base.md'",
    ] {
        let calls = [("own", json!({})), ("add_entry", json!({ "page": "Index", "entry": "x" }))];
        let mut chat = plug(&calls, &format!("{own} _G.loaded = load_pages({order})"));
        assert_eq!((chat.nvim.lua("return loaded", &[]), said(&mut chat.nvim).as_str()), (json!(true), ""), "{order}");
        assert_eq!(registered(&mut chat), json!(["add_entry", "count_entries", "own"]), "{order}");
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the change", |nvim| nvim.text().contains("question=\"Write Index?\""));
        chat.wait_until_idle();
        chat.nvim.command("%Flemma tool:approve");
        let found = answered(&mut chat);
        assert_eq!(found, [("own".to_owned(), false), ("Added to Index".to_owned(), false)], "{order}");
    }
    // Names that pages share by chance: each page goes on with what Flemma provides.
    let code = "space, system, editor = nil, 7, {}
        ai.tools.reads = { description = 'x', handler = function() return space.readPage('Index') end }";
    assert_eq!(results(&mut with_tools(&[("reads", json!({}))], code)), [(VAULT[0].1.trim_end().to_owned(), false)]);
}

#[test]
fn what_flemma_lacks_is_said_by_the_call_that_needs_it() {
    let code = "local found = #query[[from p = index.pages()]]
        local function define(name, handler) ai.tools[name] = { description = tostring(found), handler = handler } end
        define('queries', function() return #query[[from p = index.pages()]] end)
        define('dispatches', function() event.dispatch('x') return 'done' end)";
    let mut chat = with_tools(&[("queries", json!({})), ("dispatches", json!({}))], code);
    assert_eq!(chat.nvim.lua("return loaded", &[]), true, "{}", said(&mut chat.nvim));
    let words = |name: &str| (format!("Error: {name}: Flemma does not have this part of SilverBullet"), true);
    assert_eq!(results(&mut chat), [words("query"), words("event.dispatch")]);
}

#[test]
fn an_agent_of_a_page_that_forbids_something_is_told_of() {
    let define = |agent: &str| format!("ai.agents = ai.agents or {{}} ai.agents.one = {agent}");
    for (code, is_told) in [
        (define("{ name = 'One', systemPrompt = 'x' }"), false),
        (define("{ name = 'One', allowedReadPaths = { 'Sandbox/' } }"), true),
        (define("{ toolsExclude = { 'eval_lua' } }"), true),
        ("config.set('ai', { agents = { one = { tools = { 'read_note' } } } })".to_owned(), true),
    ] {
        let mut chat = with_tools(&[], &format!("{code} ai.tools.x = {{ description = 'x', handler = print }}"));
        assert_eq!(chat.nvim.lua("return loaded", &[]), true);
        let told = said(&mut chat.nvim);
        assert_eq!(told.contains("`ai.agents` has no effect; give them to"), is_told, "{code}: {told}");
    }
}

/// A conversation in which a change of the page `Index` waits, by a tool with this body.
fn waiting(pages: &[(&str, &str)], body: &str) -> Chat {
    let code =
        format!("```space-lua\nai.tools.writes = {{ description = 'x', handler = function() {body} end }}\n```\n");
    let files = [VAULT, pages, &[("vault/Library/Own.md", code.as_str())]].concat();
    let lua = "assert(require('flemma.compat.silverbullet').load('vault/Library'))";
    let mut chat = with_calls(&[("writes", json!({}))], OPTIONS, lua, &files);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the change", |nvim| nvim.text().contains("question=\"Write Index?\""));
    chat.wait_until_idle();
    chat.go_to("status=pending");
    chat.nvim.wait_for_screen("+# Home");
    chat.nvim.wait_for_screen("-# Index");
    assert_eq!(chat.nvim.file("vault/Index.md"), VAULT[0].1, "nothing is written before it is approved");
    chat
}

/// What the model gets, and the page afterwards.
fn decided(mut chat: Chat, command: &str) -> (String, bool, String) {
    chat.nvim.command(&format!("Flemma {command}"));
    let (text, is_error) = answered(&mut chat).remove(0);
    (text, is_error, chat.nvim.file("vault/Index.md"))
}

#[test]
fn request_write_approval_shows_a_change_and_says_the_outcome() {
    let body = "local answer = system.invokeFunction('silverbullet-ai.requestWriteApproval', 'Index', '# Home\\n')
        return tostring(answer.success) .. ': ' .. tostring(answer.error)";
    let own = VAULT[0].1.to_owned();
    assert_eq!(decided(waiting(PAGES, body), "tool:approve"), ("true: nil".to_owned(), false, "# Home\n".to_owned()));
    let words = "false: The user rejected the change, and nothing of it was written: not this";
    assert_eq!(decided(waiting(PAGES, body), "tool:reject not this"), (words.to_owned(), false, own));
}

#[test]
fn write_page_shows_a_change_and_throws_where_it_is_refused() {
    let own = VAULT[0].1.to_owned();
    let body = "ai.writePage('Index', '# Home\\n') return 'written'";
    // Flemma's own function, and the one that a page has put in its place.
    for pages in [&[], PAGES] {
        let approved = decided(waiting(pages, body), "tool:approve");
        assert_eq!(approved, ("written".to_owned(), false, "# Home\n".to_owned()));
        let words = "Error: The user rejected the change, and nothing of it was written: not this";
        assert_eq!(decided(waiting(pages, body), "tool:reject not this"), (words.to_owned(), true, own.clone()));
    }
}
