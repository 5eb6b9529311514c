//! Which frontmatter runs without a question, and what protects the record of trusted code.

use serde_json::json;

use super::{
    chat::{Chat, Setup, prose},
    frontmatter::{FILE, resolve},
};

const FOUND: &str = "```lua\nflemma.opt.model = \"from-the-file\"\n```\n\n@You:\nHello\n";

#[test]
fn foreign_code_needs_trust_before_it_runs() {
    let mut chat = Chat::start(&Setup { text: Some(FOUND), ..Setup::default() }, [prose(&["ok"]), prose(&["again"])]);
    chat.record_questions();
    chat.nvim.input("<C-]>");
    let prompt = chat.wait_for_question(1);
    assert_eq!(
        prompt,
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
    chat.wait_for_question(2);
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (1, 0));
    assert!(chat.server.requests().is_empty());

    // After the code is trusted, the action of the key continues.
    chat.nvim.input("G<C-]>");
    chat.wait_for_question(3);
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
    assert_eq!(chat.questions(), 3);
}

#[test]
fn json_that_approves_tools_needs_trust() {
    let policy = "```json\n{ \"tools\": { \"auto_approve\": [\"bash\"] } }\n```\n\n@You:\nHello\n";
    let mut chat = Chat::start(&Setup { text: Some(policy), ..Setup::default() }, [prose(&["ok"])]);
    chat.record_questions();
    assert_eq!(resolve(&mut chat, "bash", &json!({})).0, "require_approval");
    chat.nvim.input("<C-]>");
    let prompt = chat.wait_for_question(1);
    assert!(prompt.contains("begins with options that you did not write"), "{prompt}");
    chat.nvim.lua("choose(2)", &[]);
    chat.server.wait_for_requests(1);
    assert_eq!(resolve(&mut chat, "bash", &json!({})), ("approve".to_owned(), json!(FILE)));
}
