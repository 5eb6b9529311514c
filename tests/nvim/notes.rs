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

/// What an editor knows of its buffers, and of the windows that show them.
const BUFFERS: &str = "_G.buffers = function()
      local names = {}
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':.')
        if name:find('vault/') then names[#names + 1] = name end
      end
      table.sort(names)
      return names
    end";

/// A conversation in which the page of a plan is renamed to `vault/Done/Big plan.md`, after these commands.
fn renamed(commands: &[&str]) -> Chat {
    let options = "tools = { notes = { enabled = true, root = 'vault' }, auto_approve = { 'rename_note' } }";
    let setup = Setup { files: PAGES, options, lua: BUFFERS, ..Setup::default() };
    let input = json!({ "page": "Projects/Plan", "new_page": "Done/Big plan" });
    let mut chat = Chat::start(&setup, [call("toolu_1", "rename_note", &input), prose(&["fine"])]);
    for command in commands {
        chat.nvim.command(command);
    }
    chat.nvim.command("call win_gotoid(bufwinid('notes.chat'))");
    chat.send_until("@Assistant:\nfine");
    chat
}

/// The name of the file of a buffer.
fn name(chat: &mut Chat, buffer: i64) -> String {
    let lua = "return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(...), ':.')";
    chat.nvim.lua(lua, &[json!(buffer)]).as_str().unwrap().to_owned()
}

fn take_back(chat: &mut Chat, command: &str) {
    chat.nvim.command("call win_gotoid(bufwinid('notes.chat')) | messages clear");
    chat.nvim.input(&format!(":Flemma {command}<CR>"));
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "nofile");
    chat.nvim.input("gg<CR>");
    let words = if command == "undo" { "took back" } else { "made again" };
    chat.nvim.wait_for(words, |nvim| said(nvim).contains(words));
}

#[test]
fn a_buffer_follows_its_page_to_its_new_name() {
    let mut chat = renamed(&[
        "set noautoread",
        "split vault/Index.md | edit vault/Projects/Plan.md",
        "call setline(6, '## TASKS') | silent write | 8mark x | 13mark P | split | resize 4 | call cursor(16, 3)",
        "let g:page = bufnr() | let g:index = bufnr('Index')",
    ]);
    let page = chat.nvim.lua("return vim.g.page", &[]).as_i64().unwrap();
    chat.nvim.wait_for("the new name", |nvim| {
        nvim.lua("return vim.fn.fnamemodify(vim.fn.bufname(vim.g.page), ':.')", &[]) == "vault/Done/Big plan.md"
    });
    assert_eq!(chat.nvim.lua("return buffers()", &[]), json!(["vault/Done/Big plan.md", "vault/Index.md"]));
    let wins = chat.nvim.lua("return #vim.fn.win_findbuf(vim.g.page)", &[]);
    assert_eq!(wins, 2, "both windows show it");
    let marks = "local b = vim.g.page
        return { vim.api.nvim_buf_get_mark(b, 'x')[1], vim.api.nvim_buf_get_mark(b, 'P')[1], vim.api.nvim_get_mark('P', {})[3] == b,
          vim.tbl_map(vim.api.nvim_win_get_cursor, vim.fn.win_findbuf(b)) }";
    assert_eq!(chat.nvim.lua(marks, &[]), json!([8, 13, true, [[16, 2], [1, 0]]]));
    let alternate = "return vim.api.nvim_win_call(vim.fn.win_findbuf(vim.g.page)[2], function() return vim.fn.bufnr('#') == vim.g.index end)";
    assert_eq!(chat.nvim.lua(alternate, &[]), true, "the alternate file is what it was");
    // What is written goes to the new name.
    chat.nvim.command(
        "call win_gotoid(bufwinid('notes.chat')) | sbuffer Big | call setline(1, '----') | silent write | call setline(1, '---') | silent write",
    );
    let content = chat.nvim.file("vault/Done/Big plan.md");
    assert!(content.contains("## TASKS") && !chat.nvim.work().join("vault/Projects/Plan.md").exists(), "{content}");
    chat.nvim.command("silent earlier 100f");
    assert!(chat.nvim.text().contains("## Tasks"), "undo goes back over it\n{}", chat.nvim.text());
    chat.nvim.command("silent later 100f | close");
    assert_eq!(chat.nvim.file("vault/Done/Big plan.md"), content);
    // Undo of the rename, and redo.
    take_back(&mut chat, "undo");
    assert_eq!(name(&mut chat, page), "vault/Projects/Plan.md");
    assert_eq!(chat.nvim.lua("return buffers()", &[]), json!(["vault/Index.md", "vault/Projects/Plan.md"]));
    assert_eq!(chat.nvim.file("vault/Projects/Plan.md"), content);
    take_back(&mut chat, "redo");
    assert_eq!(name(&mut chat, page), "vault/Done/Big plan.md");
    chat.nvim.command("sbuffer Big | silent earlier 100f");
    assert!(chat.nvim.text().contains("## Tasks"), "{}", chat.nvim.text());
}

#[test]
fn a_buffer_that_cannot_follow_stays_and_the_user_hears_of_it() {
    // Another buffer has the new name, with words that are not saved anywhere.
    let mut chat = renamed(&["split vault/Projects/Plan.md | let g:page = bufnr()", "split vault/Done/Big\\ plan.md"]);
    let words = "Its buffer keeps the old name: another buffer has the new one";
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains(words));
    let said_all = said(&mut chat.nvim);
    assert!(!said_all.contains("the file was deleted"), "{said_all}");
    let page = chat.nvim.lua("return vim.g.page", &[]).as_i64().unwrap();
    assert_eq!(name(&mut chat, page), "vault/Projects/Plan.md");
    assert!(chat.nvim.lines(page).contains(&"## Tasks".to_owned()));
    // Words that were typed while the tool ran.
    chat.nvim.command("messages clear");
    let script = "vim.fn.writefile({ 'one' }, 'vault/a.md')
        vim.cmd('split vault/a.md')
        vim.fn.setline(1, 'mine')
        vim.uv.fs_rename('vault/a.md', 'vault/b.md')
        local folder = vim.uv.fs_realpath('vault')
        require('flemma.buffer.checktime').all({ folder .. '/b.md' }, { { folder .. '/a.md', folder .. '/b.md' } })";
    chat.nvim.lua(script, &[]);
    chat.nvim
        .wait_for("the message", |nvim| said(nvim).contains("Its buffer keeps the old name: it has unsaved changes"));
    assert_eq!(chat.nvim.text(), "mine\n");
    assert_eq!(chat.nvim.lua("return vim.fn.expand('%:t') .. tostring(vim.bo.modified)", &[]), "a.mdtrue");
    assert_eq!(chat.nvim.file("vault/b.md"), "one\n");
}
