//! Notes in an editor: a page that is shown, and a conversation about pages.

use serde_json::json;

use super::{
    chat::{Chat, Setup, call, prose, said},
    client_tools::{failure, run, windows},
};

const PAGES: &[(&str, &str)] = &[
    (
        "vault/Projects/Plan.md",
        "---\nstatus: open # for now\n---\n# Plan\n\n## Tasks\n\n- one\n\n```\n## Later\n```\n\n## Later\n\n- two\n",
    ),
    ("vault/Index.md", "See [[Projects/Plan]] and [the plan](Projects/Plan.md#tasks).\n"),
    ("vault/secret/key.md", "key\n"),
    ("outside.md", "outside\n"),
    ("link.lua", "vim.uv.fs_symlink('../outside.md', 'vault/way.md')"),
];

const RUN: &str = "_G.run = function(tool, input)
      local chat = vim.fn.bufnr('notes.chat')
      return require('flemma.tools.client.' .. tool)(input,
        require('flemma.tools.context').new(chat, tool, 10, nil, { call_id = 'toolu_1' }), function() end)
    end";

#[test]
fn navigate_shows_a_page_at_a_place() {
    let options = "tools = { notes = { enabled = true, root = 'vault' }, auto_approve = { '$default', '!read(vault/secret/**)' } }";
    let setup = Setup { files: PAGES, options, lua: RUN, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["fine"])]);
    chat.nvim.command("luafile link.lua");
    let shown = run(&mut chat, "navigate", json!({ "page": "Projects/Plan", "section": "later" }));
    assert_eq!((&shown["line"], &shown["column"]), (&json!(14), &json!(1)), "{shown}");
    assert!(shown["path"].as_str().unwrap().ends_with("vault/Projects/Plan.md"), "{shown}");
    assert_eq!(windows(&mut chat), json!(["vault/Projects/Plan.md:14", "notes.chat:1"]));
    let shown = run(&mut chat, "navigate", json!({ "page": "Index", "line": 1 }));
    assert_eq!(shown["line"], 1);
    assert_eq!(windows(&mut chat), json!(["vault/Index.md:1", "notes.chat:1"]));
    for (input, words) in [
        (
            json!({ "page": "Projects/Plan", "section": "Late" }),
            "The page has no section \"Late\". Did you mean \"Later\"?",
        ),
        (json!({ "page": "Projects/Plam" }), "There is no page `Projects/Plam`."),
        (json!({ "page": "../outside" }), "`..` is not allowed"),
        (json!({ "page": "way" }), "leads out of the folder of notes"),
        (json!({ "page": "secret/key" }), "The user's policy denies reading"),
        (json!({ "page": "Index", "line": 0 }), "`line` must be at least 1"),
    ] {
        let error = failure(&mut chat, "navigate", input.clone());
        assert!(error.contains(words), "{input}: {error}");
    }
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 2);
    assert!(!said(&mut chat.nvim).contains("E"), "{}", said(&mut chat.nvim));
}

#[test]
fn a_file_turns_its_notes_on_and_writes_ask() {
    let text = "```lua\nflemma.opt.tools.notes = { enabled = true, root = \"vault\" }\n```\n\n@You:\nTidy up.\n";
    let setup = Setup { files: PAGES, text: Some(text), ..Setup::default() };
    let mut chat = Chat::start(
        &setup,
        [
            call("toolu_1", "read_note", &json!({ "page": "Projects/Plan", "section": "Tasks" })),
            call("toolu_2", "rename_note", &json!({ "page": "Projects/Plan", "new_page": "Done/Big plan" })),
            call("toolu_3", "update_frontmatter", &json!({ "page": "Done/Big plan", "status": "done" })),
            prose(&["fine"]),
        ],
    );
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.screen().iter().any(|line| line.contains("2: Trust this block")));
    chat.nvim.input("2<CR>");
    chat.nvim.wait_for("the call that asks", |nvim| nvim.text().contains("toolu_2") && nvim.text().contains("pending"));
    chat.wait_until_idle();
    let offered = chat.server.wait_for_requests(1)[0].json()["tools"].clone();
    let offered: Vec<_> =
        offered.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert!(offered.contains(&"rename_note".to_owned()) && offered.contains(&"bash".to_owned()), "{offered:?}");
    let read = chat.messages(1)[2]["content"][0]["content"].to_string();
    assert!(read.contains("## Tasks\\n\\n- one\\n\\n```\\n## Later\\n```"), "{read}");
    assert_eq!(chat.nvim.file("vault/Index.md"), PAGES[1].1, "nothing is written before it is approved");
    for id in ["`toolu_2`", "`toolu_3`"] {
        let result = format!("**Tool Result:** {id}\n\n```flemma:tool status=pending");
        chat.nvim.wait_for("the call", |nvim| nvim.text().contains(&result));
        chat.wait_until_idle();
        chat.go_to("status=pending");
        chat.nvim.command("Flemma tool:approve");
    }
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.file("vault/Index.md"), "See [[Done/Big plan]] and [the plan](Done/Big%20plan.md#tasks).\n");
    let page = PAGES[0].1.replace("status: open # for now", "status: done # for now");
    assert_eq!(chat.nvim.file("vault/Done/Big plan.md"), page);
    assert!(chat.nvim.text().contains("-status: open # for now"), "the result has a diff\n{}", chat.nvim.text());
}
