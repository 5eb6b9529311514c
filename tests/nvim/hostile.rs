//! What a model or a stranger's file nests too deeply ends no editor.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
};

fn deep(open: &str, close: &str) -> String {
    open.repeat(20_000) + &close.repeat(20_000)
}

#[test]
fn nested_globs_of_a_model_and_of_ignore_files_are_refused() {
    let glob = deep("{a,", "}");
    let calls = [
        ("find", json!({ "pattern": glob })),
        ("find", json!({ "pattern": "*.txt" })),
        ("grep", json!({ "pattern": "x", "glob": glob })),
        ("grep", json!({ "pattern": deep("(", ")") })),
        ("grep", json!({ "pattern": "words" })),
        ("bash", json!({ "command": format!("echo {glob} {}", deep("$(", ")")) })),
    ];
    let stream = calls.iter().enumerate().fold(Stream::new(), |stream, (nth, (name, input))| {
        stream.tool_use(&format!("toolu_{nth}"), name, &[&input.to_string()])
    });
    let ignored = format!("{glob}\n*.log\n");
    let files = [
        (".gitignore", ignored.as_str()),
        (".git/info/exclude", &ignored),
        ("a.txt", "words\n"),
        ("a.log", "words\n"),
        ("other.chat", "@You:\nwords\n"),
    ];
    let mut chat = Chat::start(&Setup { files: &files, ..Setup::default() }, [reply(&stream.end("tool_use"))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the results", |nvim| nvim.text().matches("**Tool Result:**").count() == 6);
    chat.wait_until_idle();
    let text = chat.nvim.text();
    assert_eq!(text.matches("more than 64 `{`").count(), 2, "{}", said(&mut chat.nvim));
    assert!(text.contains("longer than 16384 bytes"));
    assert!(text.contains("\na.txt\n") && text.contains("a.txt:1:words") && !text.contains("a.log:1"));
    assert!(text.contains("status=pending"), "no rule approves a command that cannot be read");
    // These read the ignore files as well.
    chat.nvim.command("Flemma pending");
    chat.nvim.wait_for("the window", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "quickfix");
    chat.nvim.command("cclose");
    chat.nvim.input("Go@./a<C-x><C-o>");
    chat.nvim.wait_for("the completion", |nvim| {
        nvim.lua("return vim.fn.pumvisible() == 1 or vim.api.nvim_get_current_line():find('a.txt') ~= nil", &[]) == true
    });
}

#[test]
fn nested_frontmatter_of_a_stranger_is_an_error() {
    let glob = deep("{a,", "}");
    let cases = [
        (json!({ "tools": { "auto_approve": [format!("read({glob})")] } }).to_string(), "more than 64 `{`"),
        (json!({ "tools": { "auto_approve": [format!("!bash({glob})")] } }).to_string(), "not trusted this file"),
        (json!({ "tool_protocol": [glob] }).to_string(), "tool_protocol"),
        (deep("[", "]"), "recursion limit"),
        (deep("{\"tools\":", "}"), "recursion limit"),
        (format!("{{\"{}\": 1}}", "tools.".repeat(20_000)), "unknown option"),
    ];
    let texts = cases.clone().map(|(code, _)| format!("```json\n{code}\n```\n\n@You:\nHello\n"));
    let names: Vec<String> = (0..cases.len()).map(|nth| format!("{nth}.chat")).collect();
    let files: Vec<_> = names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let lua = "vim.ui.select = function() end";
    let mut chat = Chat::start(&Setup { files: &files, lua, ..Setup::default() }, [prose(&["ok"])]);
    for (name, (_, words)) in names.iter().zip(&cases) {
        chat.nvim.command(&format!("silent edit {name}"));
        chat.nvim.input("<C-]>");
        let lines = "return table.concat(require('flemma.status').lines(vim.api.nvim_get_current_buf()), '\\n')";
        chat.nvim.wait_for(words, |nvim| nvim.lua(lines, &[]).as_str().is_some_and(|lines| lines.contains(words)));
    }
    assert!(chat.server.requests().is_empty());
}
