//! Which frontmatter runs without a question, and what protects the record of trusted code.

use serde_json::json;

use super::{
    chat::{Chat, Setup, prose},
    frontmatter::{FILE, lua, resolve, type_block},
};

const FOUND: &str = "```lua\nflemma.opt.model = \"from-the-file\"\n```\n\n@You:\nHello\n";

/// Records the questions and their choices. `choose` answers.
fn ask(chat: &mut Chat) {
    chat.nvim.lua(
        "vim.g.asked = 0
         vim.ui.select = function(items, opts, choose)
           vim.g.asked = vim.g.asked + 1
           vim.g.prompt = opts.prompt
           vim.g.items = vim.tbl_map(opts.format_item, items)
           _G.choose = function(n) choose(items[n], n) end
         end",
        &[],
    );
}

fn asked(chat: &mut Chat) -> u64 {
    chat.nvim.lua("return vim.g.asked", &[]).as_u64().unwrap()
}

#[test]
fn foreign_code_needs_trust_before_it_runs() {
    let mut chat = Chat::start(&Setup { text: Some(FOUND), ..Setup::default() }, [prose(&["ok"]), prose(&["again"])]);
    ask(&mut chat);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 1);
    assert_eq!(
        chat.nvim.lua("return vim.g.prompt", &[]),
        "notes.chat begins with Lua code that you did not write in \
                                                           this session:"
    );
    assert_eq!(
        chat.nvim.lua("return vim.g.items", &[]),
        json!(["Show it without running anything", "Trust this block in this file", "Not now"])
    );
    // Neither "not now" nor showing the code runs or sends anything.
    chat.nvim.lua("choose(3)", &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 2);
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (1, 0));
    assert!(chat.server.requests().is_empty());

    // After the code is trusted, the action of the key continues.
    chat.nvim.input("G<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 3);
    chat.nvim.lua("choose(2)", &[]);
    assert_eq!(chat.server.wait_for_requests(1)[0].json()["model"], "from-the-file");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    chat.wait_until_idle();

    // The trust is kept: there is no question when the file is opened again.
    chat.nvim.command("silent write");
    chat.nvim.wait_for("the store", |nvim| nvim.folder("state").join("nvim/flemma/trust.jsonl").exists());
    chat.nvim.command("edit!");
    chat.nvim.input("Gothanks<Esc><C-]>");
    assert_eq!(chat.server.wait_for_requests(2)[1].json()["model"], "from-the-file");
    assert_eq!(asked(&mut chat), 3);
}

#[test]
fn changing_a_letter_does_not_make_foreign_code_trusted() {
    let mut chat = Chat::start(&Setup { text: Some(FOUND), ..Setup::default() }, []);
    ask(&mut chat);
    chat.nvim.command("2substitute/from-the-file.*/mine\" -- hm/");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 1);
    chat.nvim.lua("choose(3)", &[]);
    // It stays untrusted when it is deleted and restored by undo.
    chat.nvim.command("1,3delete");
    chat.nvim.command("undo");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 2);
    assert!(chat.server.requests().is_empty());
}

#[test]
fn foreign_code_that_becomes_frontmatter_stays_untrusted() {
    for text in [format!("\n{FOUND}"), format!("@You:\n{FOUND}"), FOUND.replace("```\n\n@You", "@You")] {
        let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
        ask(&mut chat);
        if text.starts_with("```lua") {
            chat.nvim.request("nvim_buf_set_lines", &[json!(0), json!(2), json!(2), json!(false), json!(["```", ""])]);
        } else {
            chat.nvim.command("1delete");
        }
        chat.nvim.input("G<C-]>");
        chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 1);
        assert!(chat.server.requests().is_empty());
    }
}

#[test]
fn what_the_user_typed_is_theirs_and_saving_keeps_it_so() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["ok"]), prose(&["again"])]);
    ask(&mut chat);
    type_block(&mut chat, &lua("flemma.opt.model = \"mine\""));
    chat.nvim.command("silent write");
    chat.nvim.command("edit!");
    chat.nvim.input("<C-]>");
    assert_eq!(chat.server.wait_for_requests(1)[0].json()["model"], "mine");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    chat.wait_until_idle();
    assert_eq!(asked(&mut chat), 0);
    // Later edits are trusted as well.
    chat.nvim.command("2substitute/mine/other/");
    chat.nvim.input("Gomore<Esc><C-]>");
    assert_eq!(chat.server.wait_for_requests(2)[1].json()["model"], "other");
    assert_eq!(asked(&mut chat), 0);
}

#[test]
fn json_options_need_trust_unless_they_are_harmless() {
    let policy = "```json\n{ \"tools\": { \"auto_approve\": [\"bash\"] } }\n```\n\n@You:\nHello\n";
    let mut chat = Chat::start(&Setup { text: Some(policy), ..Setup::default() }, [prose(&["ok"])]);
    ask(&mut chat);
    assert_eq!(resolve(&mut chat, "bash", &json!({})).0, "require_approval");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 1);
    assert!(
        chat.nvim
            .lua("return vim.g.prompt", &[])
            .as_str()
            .unwrap()
            .contains("begins with options that you did not write")
    );
    chat.nvim.lua("choose(2)", &[]);
    chat.server.wait_for_requests(1);
    assert_eq!(resolve(&mut chat, "bash", &json!({})), ("approve".to_owned(), json!(FILE)));

    // Prose of a stranger's file must not become calls.
    let calls = "```json\n{ \"tool_protocol\": \"xml\" }\n```\n\n@You:\nHello\n";
    let mut chat = Chat::start(&Setup { text: Some(calls), ..Setup::default() }, [prose(&["ok"])]);
    ask(&mut chat);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 1);
    assert_eq!(chat.server.requests().len(), 0);

    let plain = "```json\n{ \"max_tokens\": 5 }\n```\n\n@You:\nHello\n";
    let mut chat = Chat::start(&Setup { text: Some(plain), ..Setup::default() }, [prose(&["ok"])]);
    ask(&mut chat);
    chat.nvim.input("<C-]>");
    assert_eq!(chat.server.wait_for_requests(1)[0].json()["max_tokens"], 5);
    assert_eq!(asked(&mut chat), 0);
}

#[test]
fn lines_read_in_from_another_file_are_foreign() {
    let stranger = "```lua\nflemma.opt.tools.auto_approve={\"bash\"}\n```\n\n@You:\nHi\n";
    let mut chat = Chat::start(&Setup { text: None, files: &[("other.chat", stranger)], ..Setup::default() }, []);
    ask(&mut chat);
    chat.nvim.command("%delete");
    chat.nvim.command("0read other.chat");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == 1);
    assert_eq!(resolve(&mut chat, "bash", &json!({})).0, "require_approval");
}
