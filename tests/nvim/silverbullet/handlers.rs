//! What handlers get, call and return.

use serde_json::{Value, json};

use super::{VAULT, with_tools};
use crate::{chat::said, codecompanion::results};

/// A tool for each entry: its name, and the body of its handler.
fn tools(handlers: &[(&str, &str)]) -> String {
    let one = |(name, body): &(&str, &str)| {
        format!("ai.tools.{name} = {{ description = 'x', handler = function(args) {body} end }}\n")
    };
    handlers.iter().map(one).collect()
}

/// The results of a call of each tool, without arguments.
fn run(handlers: &[(&str, &str)]) -> Vec<(String, bool)> {
    let calls: Vec<(&str, Value)> = handlers.iter().map(|(name, _)| (*name, json!({}))).collect();
    results(&mut with_tools(&calls, &tools(handlers)))
}

#[test]
fn what_a_handler_returns_is_the_result() {
    let found = run(&[
        ("text", "return 'fine'"),
        ("table", "return { b = 1, a = { 'x' } }"),
        ("list", "return { 'one', 'two' }"),
        ("about", "return { result = 'the result', summary = 'in short' }"),
        ("short", "return { summary = 'in short' }"),
        ("wrong", "return 'Error: it is broken'"),
        ("throws", "error('it is very broken', 0)"),
        ("throws_table", "error({ code = 7 })"),
        ("throws_words", "error('it is broken as well')"),
        ("breaks", "return nil .. 'x'"),
        ("nothing", "return nil"),
        ("shows", "return { result = 'look', attachPaths = { 'Nowhere.png' } }"),
    ]);
    let texts: Vec<(&str, bool)> = found.iter().map(|(text, is_error)| (text.as_str(), *is_error)).collect();
    assert_eq!(
        texts[..9],
        [
            ("fine", false),
            ("{\"a\":[\"x\"],\"b\":1}", false),
            ("one\ntwo", false),
            ("the result", false),
            ("in short", false),
            ("Error: it is broken", true),
            ("Error: it is very broken", true),
            ("Error: {\"code\":7}", true),
            ("Error: it is broken as well", true),
        ]
    );
    // The author's mistake has its line, and not the folder.
    assert!(texts[9].1 && texts[9].0.starts_with("Error: tools.lua:10: attempt to concatenate"), "{:?}", texts[9]);
    assert!(texts[10].1 && texts[10].0.contains("the tool `nothing` returned nothing"), "{:?}", texts[10]);
    assert!(!texts[11].1 && texts[11].0.contains("look") && texts[11].0.contains("Nowhere.png"), "{:?}", texts[11]);
}

#[test]
fn pages_are_read_under_the_rules_for_notes() {
    let found = run(&[
        ("reads", "return space.readPage('Index')"),
        ("missing", "return space.readPage('Indx')"),
        ("caught", "local ok, problem = pcall(space.readPage, 'Indx') return tostring(ok) .. ' ' .. problem"),
        ("secret", "return space.readPage('secret/Key')"),
        ("outside", "return space.readPage('../notes')"),
        ("exists", "return tostring(space.pageExists('Projects/Plan')) .. tostring(space.pageExists('Nope'))"),
        (
            "meta",
            "local meta = space.getPageMeta('Projects/Plan')
             return meta.name .. ' ' .. meta.size .. ' ' .. meta.tags[1] .. ' ' .. tostring(meta.lastModified:startsWith('20'))",
        ),
        (
            "lists",
            "local names = {}
             for page in each(space.listPages()) do names[#names + 1] = page.name end
             return table.concat(names, ' ')",
        ),
    ]);
    let plan = VAULT[1].1.len();
    assert_eq!(found[0], (VAULT[0].1.trim_end().to_owned(), false));
    assert!(found[1].1 && found[1].0.contains("There is no page `Indx`. Did you mean `Index`?"), "{:?}", found[1]);
    assert!(!found[2].1 && found[2].0.starts_with("false There is no page"), "{:?}", found[2]);
    assert!(found[3].1 && found[3].0.contains("The user's policy denies reading"), "{:?}", found[3]);
    assert!(found[4].1 && found[4].0.contains("`..` is not allowed"), "{:?}", found[4]);
    assert_eq!(found[5], ("truefalse".to_owned(), false));
    assert_eq!(found[6], (format!("Projects/Plan {plan} work true"), false));
    assert_eq!(found[7], ("Index Projects/Plan".to_owned(), false));
}

#[test]
fn texts_lists_frontmatter_and_other_tools() {
    let found = run(&[
        ("texts", "return table.concat(string.split(string.trim(' a.b '), '.'), '|') .. tostring(('ab'):endsWith('b'))"),
        ("json", "return js.stringify({ b = { 1, 2 }, a = 'x' })"),
        (
            "patch",
            "return index.patchFrontmatter(space.readPage('Projects/Plan'), {
               { op = 'set-key', path = 'status', value = 'done' }, { op = 'delete-key', path = 'tags' },
               { op = 'delete-key', path = 'nope' } })",
        ),
        ("calls", "local inner = ai.callTool('json') return inner.result .. tostring(inner.success)"),
        ("calls_none", "return ai.callTool('nope').error"),
        ("invokes", "return system.invokeFunction('silverbullet-ai.callTool', 'json', {}).result"),
        ("unknown", "return system.invokeFunction('editor.save')"),
        (
            "lists",
            "local names = {}
             for _, tool in ipairs(system.invokeFunction('silverbullet-ai.listTools')) do names[#names + 1] = tool.name end
             for name in pairs(ai.tools) do names[#names + 1] = name == 'lists' and '!' or nil end
             return table.concat(names, ' ')",
        ),
        ("source", "return ai.listTools()[1].source"),
        ("parses", "return spacelua.parseExpression('1 +')"),
        ("own_thread", "return coroutine.wrap(function() return space.readPage('Index') end)()"),
    ]);
    assert_eq!(found[0].0, "a|btrue");
    assert_eq!(found[1].0, "{\"a\":\"x\",\"b\":[1,2]}");
    assert_eq!(found[2].0, "---\nstatus: done # for now\n---\n# Plan\n\n- one");
    assert_eq!(found[3].0, "{\"a\":\"x\",\"b\":[1,2]}true");
    assert_eq!(found[4].0, "there is no tool `nope` in ai.tools");
    assert_eq!(found[5].0, "{\"a\":\"x\",\"b\":[1,2]}");
    assert!(found[6].1 && found[6].0.contains("there is no function `editor.save` here"), "{:?}", found[6]);
    assert_eq!(found[7].0, "calls calls_none invokes json lists own_thread parses patch source texts unknown !");
    assert_eq!(found[8].0, "lua");
    assert!(found[9].1 && found[9].0.contains("spacelua.parseExpression: "), "{:?}", found[9]);
    assert!(found[10].1 && found[10].0.contains("not in a coroutine of its own"), "{:?}", found[10]);
}

#[test]
fn a_handler_waits_for_the_user_and_goes_on() {
    let code = tools(&[
        ("asks", "return 'Hello ' .. editor.prompt('Your name?', 'nobody')"),
        ("chooses", "return editor.filterBox('Which?', { { name = 'red' }, { name = 'blue' } }).name"),
        ("shows", "editor.navigate('Projects/Plan@L6') editor.flashNotification('look here') return editor.getText()"),
    ]);
    let calls = [("asks", json!({})), ("chooses", json!({})), ("shows", json!({}))];
    let mut chat = with_tools(&calls, &code);
    chat.nvim.lua(
        "vim.ui.input = function(opts, done) vim.defer_fn(function() done(opts.prompt .. opts.default) end, 5) end
         vim.ui.select = function(items, opts, done) vim.defer_fn(function() done(items[2]) end, 5) end",
        &[],
    );
    let found = results(&mut chat);
    assert_eq!(found[0], ("Hello Your name? nobody".to_owned(), false));
    assert_eq!(found[1], ("blue".to_owned(), false));
    assert_eq!(found[2], (VAULT[1].1.trim_end().to_owned(), false));
    assert!(said(&mut chat.nvim).contains("look here"));
}

#[test]
fn a_handler_that_is_cancelled_goes_nowhere() {
    let code = tools(&[("waits", "_G.begun = true local name = editor.prompt('?') vim.g.went_on = true return 'x'")]);
    let mut chat = with_tools(&[("waits", json!({}))], &code);
    chat.nvim.lua("vim.ui.input = function(_, done) _G.answer = done end", &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return answer ~= nil", &[]) == true);
    chat.nvim.input("<C-c>");
    chat.wait_until_idle();
    chat.nvim.lua("answer('late')", &[]);
    chat.nvim.wait_for("the tick", |nvim| nvim.lua("return vim.wait(50, function() end) == false", &[]) == true);
    assert_eq!(chat.nvim.lua("return vim.g.went_on", &[]), json!(null));
    assert!(chat.nvim.text().contains("The user cancelled this call while it was running."));
}
