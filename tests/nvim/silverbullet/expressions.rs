//! Expressions that a handler evaluates: in the sandbox, off the main thread.

use serde_json::{Value, json};

use super::with_tools;
use crate::codecompanion::results;

#[test]
fn an_expression_is_evaluated_in_the_sandbox() {
    let cases = [
        ("spacelua.evalExpression(spacelua.parseExpression('1 + 1'))", "2"),
        ("spacelua.evalExpression('{ b = { 1, 2 }, a = (\"x\"):startsWith(\"x\") }')", r#"{"a":true,"b":[1,2]}"#),
        ("spacelua.evalExpression('#list + n.of', { list = { 1, 2 }, n = { of = 3 } })", "5"),
        ("tostring(spacelua.evalExpression('missing'))", "nil"),
        ("spacelua.evalExpression('space.readPage(\"Index\"):match(\"#%a+\")')", "#hub"),
        ("spacelua.evalExpression('space.getPageMeta(\"Projects/Plan\").tags[1]')", "work"),
        ("spacelua.evalExpression('#space.listPages()')", "2"),
        (
            "spacelua.evalExpression('table.concat({ type(vim), type(io), type(require), type(ai), type(os.execute) })')",
            "nilnilnilnilnil",
        ),
        // What it leaves behind is gone.
        (
            "tostring(spacelua.evalExpression('rawset(_G, \"left\", 1) and left'))
             .. tostring(spacelua.evalExpression('left')) .. tostring(left)",
            "1nilnil",
        ),
        ("spacelua.evalExpression('space.readPage(\"secret/Key\")')", "!The user's policy denies reading"),
        ("spacelua.evalExpression('space.writePage(\"Index\", \"\")')", "!evaluated Lua cannot change notes"),
        ("spacelua.evalExpression('print')", "!a function has no JSON"),
        ("spacelua.evalExpression('nothing.of.it')", "!attempt to index"),
        ("spacelua.evalExpression('string.rep(\"x\", 1e9)')", "!"),
        ("spacelua.evalExpression('x', { x = print })", "!"),
        ("spacelua.evalExpression('x', { 1, 2 })", "!"),
        ("spacelua.evalExpression('x', 7)", "!the names must be a table, not a number"),
        ("spacelua.evalExpression(7)", "!give an expression"),
        ("spacelua.evalExpression('return 1')", "!spacelua.parseExpression: "),
        ("spacelua.evalExpression('1, 2')", "!spacelua.parseExpression: "),
        ("spacelua.evalExpression('1) + (2')", "!spacelua.parseExpression: "),
        ("spacelua.evalExpression('1 end x = (1')", "!spacelua.parseExpression: "),
        ("spacelua.evalExpression('')", "!spacelua.parseExpression: "),
        ("spacelua.evalExpression('-- nothing')", "!spacelua.parseExpression: "),
        ("spacelua.parseExpression(('x'):rep(100001))", "!the expression is too long"),
    ];
    let code: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, (body, _))| {
            format!("ai.tools.tool{at} = {{ description = 'x', handler = function() return {body} end }}\n")
        })
        .collect();
    let names: Vec<String> = (0..cases.len()).map(|at| format!("tool{at}")).collect();
    let calls: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), json!({}))).collect();
    let found = results(&mut with_tools(&calls, &code.concat()));
    for ((body, expected), (text, is_error)) in cases.iter().zip(&found) {
        let expects_error = expected.starts_with('!');
        let words = expected.trim_start_matches('!');
        assert_eq!(*is_error, expects_error, "{body}: {text}");
        let fits = if expects_error { text.contains(words) } else { text == words };
        assert!(fits, "{body}: {text}");
    }
}

#[test]
fn an_endless_expression_ends_with_its_call() {
    let code = "ai.tools.endless = { description = 'x', handler = function()
        _G.begun = true
        spacelua.evalExpression('(function() while true do end end)()')
        _G.went_on = true
        return 'x'
      end }
      ai.tools.limited = { description = 'x', handler = function()
        return spacelua.evalExpression('(function() while true do pcall(error) end end)()')
      end }";
    let mut chat = with_tools(&[("endless", json!({}))], code);
    // How many processes evaluate.
    let processes = "return #vim.fn.systemlist({ 'pgrep', '-P', vim.fn.getpid(), '-f', 'evaluation.lua' })";
    chat.nvim.input("<C-]>");
    if cfg!(target_os = "linux") {
        chat.nvim.wait_for("the evaluation", |nvim| nvim.lua(processes, &[]) != 0);
    }
    assert!(chat.nvim.text().contains("status=running"), "{}", chat.nvim.text());
    chat.nvim.input("<C-c>");
    chat.wait_until_idle();
    chat.nvim.wait_for("the end of the evaluation", |nvim| nvim.lua(processes, &[]) == 0);
    let globals = "return require('flemma.compat.silverbullet.environment').globals.went_on";
    assert_eq!(chat.nvim.lua(globals, &[]), json!(null));
    assert!(chat.nvim.text().contains("The user cancelled this call while it was running."));
    // Nobody stops this one.
    let found = results(&mut with_tools(&[("limited", json!({}))], code));
    assert!(found[0].1 && found[0].0.contains("ran for more than 10 seconds and was stopped"), "{found:?}");
}
