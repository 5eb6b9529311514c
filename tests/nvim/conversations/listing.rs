//! `:Flemma open`.

use std::fs;

use serde_json::{Value, json};

use super::{
    super::{
        anthropic::Stream,
        chat::{Chat, Setup, said},
        http::{Gate, Reply},
        support::Nvim,
    },
    FILES, current, put, state_folder, windows,
};

const WAITING: &str = "@You:\nRun it\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"echo hi\",\"timeout\":null,\
                       \"label\":null}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";

/// Lua that keeps what the user is asked to pick from.
const SELECT: &str = "vim.ui.select = function(items, opts, choose)
  local texts = vim.tbl_map(opts.format_item, items)
  _G.picks = _G.picks or {}
  table.insert(_G.picks, { texts = texts, prompt = opts.prompt, kind = opts.kind, choose = function(n) choose(n and items[n], n) end })
end";

fn start(options: &str, replies: impl IntoIterator<Item = Reply>) -> Chat {
    let mut chat = Chat::start(&Setup { files: &FILES, options, lua: SELECT, ..Setup::default() }, replies);
    chat.nvim.command("edit code/src/main.rs");
    chat
}

/// Runs a command, and waits for what the user can pick from then.
fn picks(nvim: &mut Nvim, command: &str) -> Vec<String> {
    nvim.lua("_G.picks = nil", &[]);
    nvim.input(&format!(":{command}<CR>"));
    nvim.wait_for("something to pick from", |nvim| nvim.lua("return _G.picks ~= nil", &[]) == true);
    let asked = nvim.lua("return { _G.picks[1].texts, _G.picks[1].prompt, _G.picks[1].kind }", &[]);
    assert_eq!((&asked[1], &asked[2]), (&json!("Conversation"), &json!("flemma.conversation")));
    serde_json::from_value(asked[0].clone()).unwrap()
}

/// Takes what was offered; `None` for none of it.
fn choose(nvim: &mut Nvim, number: Option<usize>) {
    nvim.lua("local number = ... _G.picks[1].choose(number ~= vim.NIL and number or nil)", &[json!(number)]);
}

fn complete(nvim: &mut Nvim, line: &str) -> Vec<String> {
    serde_json::from_value(nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", &[line.into()])).unwrap()
}

#[test]
fn conversations_are_offered_by_title_date_and_model() {
    let gate = Gate::new();
    let hello = Stream::new().text(&["Hello."]).end("end_turn");
    let held = hello.events().iter().fold(Reply::stream().hold(&gate), |reply, event| reply.chunk(event.as_str()));
    let mut chat = start("", [held]);
    let nvim = &mut chat.nvim;
    let folder = state_folder(nvim, "code");
    put(&folder, "2026-01-02-0304.chat", "@You:\nFix the parser\n", 60);
    put(&folder, "2026-01-01-release-notes.chat", "```json\n{\"model\":\"gpt-x\"}\n```\n\n@You:\nWrite them\n", 120);
    put(&folder, "waiting.chat", WAITING, 30);
    put(&folder, "empty.chat", "", 600);
    let offered = picks(nvim, "Flemma open");
    assert_eq!(offered.len(), 4, "{offered:?}");
    // Title, age, state, and model in columns.
    assert_eq!(
        offered,
        [
            "Run it          now     waiting  claude-test",
            "Fix the parser  1 min            claude-test",
            "release notes   2 min            gpt-x",
            "empty           10 min           claude-test",
        ]
    );
    // Picking none changes nothing.
    choose(nvim, None);
    assert_eq!(windows(nvim), ["main.rs"]);
    choose(nvim, Some(2));
    assert_eq!(current(nvim), "2026-01-02-0304.chat");
    assert_eq!(windows(nvim).len(), 2);
    assert_eq!(nvim.cursor().0, 2);
    // What is open here is listed as it is here.
    nvim.input("Go<Esc>:%s/parser/lexer/<CR><C-]>");
    nvim.wait_for("the lock", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == false);
    nvim.input("<C-w>p");
    let offered = picks(nvim, "Flemma open");
    let working = offered.iter().find(|text| text.contains("Fix the lexer")).unwrap();
    assert!(working.contains("  working  "), "{offered:?}");
    gate.open();
    // A new one that was never written is the first.
    nvim.input(":Flemma new draft<CR>");
    nvim.wait_for("the draft", |nvim| current(nvim).ends_with("-draft.chat"));
    let offered = picks(nvim, "Flemma open");
    assert_eq!(offered.len(), 5, "{offered:?}");
    assert!(offered[0].starts_with("draft  ") && offered[0].contains("  not saved  "), "{offered:?}");
    // So is one that is open elsewhere in the project, whether it has a file or not.
    nvim.input(":tabedit code/elsewhere.chat<CR>GiOther words<Esc>");
    nvim.wait_for("the text", |nvim| nvim.text().contains("Other words"));
    let offered = picks(nvim, "Flemma open");
    assert_eq!(offered.len(), 6, "{offered:?}");
    assert!(offered.iter().any(|text| text.starts_with("Other words ") && text.contains("not saved")), "{offered:?}");
    nvim.input(":write<CR>");
    nvim.wait_for("the file", |nvim| nvim.work().join("code/elsewhere.chat").exists());
    let offered = picks(nvim, "Flemma open");
    assert!(offered[0].starts_with("draft "), "{offered:?}");
    assert!(offered[1].starts_with("Other words ") && offered[1].contains("  now  "), "{offered:?}");
    nvim.input(":tabclose<CR>");
    // The file is gone when it is picked: its buffer is a new one, and nothing is an error.
    let index = offered.iter().position(|text| text.contains("release notes")).unwrap();
    fs::remove_file(folder.join("2026-01-01-release-notes.chat")).unwrap();
    choose(nvim, Some(index + 1));
    assert_eq!(nvim.text(), "@You:\n\n");
}

#[test]
fn a_name_opens_a_conversation_and_completion_has_the_titles() {
    let mut chat = start("conversations = { folder = 'talk' }", []);
    let nvim = &mut chat.nvim;
    nvim.input(":Flemma open<CR>");
    nvim.wait_for("the advice", |nvim| said(nvim).contains("no conversation yet; `:Flemma new` begins one"));
    let folder = nvim.work().join("code/talk");
    assert!(said(nvim).contains(&format!("{} (`conversations.folder`)", folder.display())), "{}", said(nvim));
    put(&folder, "a.chat", "@You:\nFix the parser\n", 10);
    put(&folder, "b.chat", "@You:\nFix the lexer | 100% \"now\"\n", 20);
    // Those in the state directory are still there.
    let own = state_folder(nvim, "code");
    put(&own, "earlier.chat", "@You:\nEarlier\n", 30);
    // The command line never waits for the disk: the titles are there when they have been read.
    nvim.lua("_G.waits = vim.wait; vim.wait = function() error('completion waits') end", &[]);
    nvim.wait_for("the titles", |nvim| {
        complete(nvim, "Flemma open ") == ["Fix the parser", "Fix the lexer | 100% \"now\"", "Earlier"]
    });
    nvim.lua("vim.wait = _G.waits", &[]);
    assert_eq!(complete(nvim, "Flemma open fix the l"), ["lexer | 100% \"now\""]);
    assert_eq!(complete(nvim, "Flemma open z"), [""; 0]);
    assert_eq!(complete(nvim, "Flemma tog"), ["toggle"]);
    assert_eq!(complete(nvim, "Flemma toggle h"), ["horizontal"]);
    for (words, name) in [
        ("Fix the lexer | 100% \"now\"", "b.chat"),
        ("FIX THE PARSER", "a.chat"),
        ("earl", "earlier.chat"),
        ("b", "b.chat"),
        ("code/talk/a.chat", "a.chat"),
    ] {
        nvim.input(&format!(":Flemma open {}<CR>", words.replace('<', "<lt>")));
        nvim.wait_for(words, |nvim| current(nvim) == name);
    }
    // What the user has called it.
    nvim.command("Flemma new Parser Bug (again)");
    nvim.wait_for("the conversation", |nvim| current(nvim).ends_with("-parser-bug-again.chat"));
    nvim.input("ihello<Esc>:silent write<CR>");
    let named = current(nvim);
    nvim.wait_for("the title", |nvim| complete(nvim, "Flemma open par") == ["parser bug again"]);
    nvim.wait_for("the rest of it", |nvim| complete(nvim, "Flemma open parser b") == ["bug again"]);
    for words in ["Parser Bug (again)", "parser bug again", "parser-bug"] {
        nvim.input(":Flemma open earl<CR>");
        nvim.wait_for("another one", |nvim| current(nvim) == "earlier.chat");
        nvim.input(&format!(":Flemma open {words}<CR>"));
        nvim.wait_for(words, |nvim| current(nvim) == named);
    }
    let offered = picks(nvim, "Flemma open fix");
    assert_eq!(offered.len(), 2, "{offered:?}");
    nvim.input(":Flemma open nothing like it<CR>");
    nvim.wait_for("the message", |nvim| {
        said(nvim).contains("no conversation of this project is called `nothing like it`; `:Flemma open` lists all")
    });
    assert!(!said(nvim).contains("E5108"), "{}", said(nvim));
}

#[test]
fn a_folder_that_cannot_be_read_is_named() {
    let mut chat = start("conversations = { folder = 'README.txt' }", []);
    let nvim = &mut chat.nvim;
    nvim.input(":Flemma open<CR>");
    nvim.wait_for("the message", |nvim| said(nvim).contains("code/README.txt cannot be listed: "));
    // The keys after it go on.
    nvim.input(":Flemma open<CR>:Flemma toggle<CR>:Flemma new x<CR>");
    nvim.wait_for("the refusal", |nvim| said(nvim).matches("code/README.txt, cannot be written: ").count() == 2);
    assert_eq!(windows(nvim), ["main.rs"]);
    assert_eq!(nvim.file("code/README.txt"), "# Code\n");
    assert_eq!(nvim.lua("return vim.v.errmsg", &[]), Value::from(""));
}
