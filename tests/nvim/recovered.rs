//! Conversations whose text is recovered from the swap file of an editor that was killed.

use super::{
    chat::{Chat, KEY, Setup, call, init, prose, said},
    http::{Reply, Server},
    support::{Nvim, Options},
};

/// An editor that was killed with changes, which only its swap file has.
fn killed() -> Chat {
    let mut chat = Chat::start(&Setup::default(), []);
    chat.nvim.input("Gotyped before the kill<Esc>:preserve<CR>");
    chat.nvim.wait_for("the swap file", |nvim| said(nvim).contains("File preserved"));
    chat.nvim.kill();
    chat
}

/// The next editor of the same user, in which nothing is open yet.
fn next(first: &Chat, replies: impl IntoIterator<Item = Reply>) -> Chat {
    let server = Server::start(replies);
    let (state, cd) = (first.nvim.folder("state"), format!("cd {}", first.nvim.work().display()));
    let nvim = Nvim::start(&Options {
        arguments: &["--cmd", &cd],
        init: &init(&server.base_url(), ""),
        environment: &[("ANTHROPIC_API_KEY", KEY), ("XDG_STATE_HOME", state.to_str().unwrap())],
        ..Options::default()
    });
    Chat { nvim, server }
}

/// Opens the conversation, and answers the question about the swap file (E325) with this key.
fn open(chat: &mut Chat, answer: &str) {
    chat.nvim.input(":edit notes.chat<CR>");
    chat.nvim.wait_for("the question", |nvim| nvim.screen().join(" ").contains("(R)ecover"));
    chat.nvim.input(answer);
}

/// Leaves what Neovim says on the screen alone for longer than a lock is tried, and then goes on.
fn read_on(chat: &mut Chat) {
    chat.nvim.wait_for("the end of the recovery", |nvim| {
        let screen = nvim.screen().join(" ");
        ["Press ENTER", "typed before the kill"].iter().any(|sign| screen.contains(sign))
    });
    std::thread::sleep(std::time::Duration::from_millis(400));
    // Versions of Neovim differ in whether they ask for it.
    while chat.nvim.request("nvim_get_mode", &[])["blocking"] == true {
        chat.nvim.input("<CR>");
    }
    chat.nvim.wait_for("the text", |nvim| nvim.text() == "@You:\nHello\ntyped before the kill\n");
}

#[test]
fn auto_write_of_a_recovered_text_begins_with_a_write() {
    for way in ["R", ":recover notes.chat<CR>"] {
        let first = killed();
        let mut chat = next(&first, [prose(&["one"]), prose(&["two"])]);
        if way == "R" {
            open(&mut chat, "R");
        } else {
            chat.nvim.input(way);
        }
        read_on(&mut chat);
        chat.wait_until_idle();
        assert_eq!(chat.nvim.lua("return { vim.bo.modified, vim.bo.readonly }", &[]), serde_json::json!([true, false]));
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\none"));
        chat.nvim.wait_for("why the file is not written", |nvim| {
            said(nvim).contains("notes.chat was not written: it is not known whether the file was changed elsewhere")
        });
        chat.wait_until_idle();
        // The user may have wanted to compare the two.
        assert_eq!(first.nvim.file("notes.chat"), "@You:\nHello\n");
        let told = said(&mut chat.nvim);
        assert!(!told.contains("is open in") && !told.contains("nobody else has it open"), "{way}: {told}");

        chat.nvim.command("messages clear");
        chat.nvim.command("silent write");
        assert!(first.nvim.file("notes.chat").contains("@Assistant:\none"));
        chat.nvim.input("GoMore<Esc><C-]>");
        chat.nvim.wait_for("the second reply", |nvim| nvim.text().contains("@Assistant:\ntwo"));
        chat.nvim
            .wait_for("the second reply in the file", |_| first.nvim.file("notes.chat").contains("@Assistant:\ntwo"));
        chat.wait_until_idle();
        assert!(!said(&mut chat.nvim).contains("was not written"), "{}", said(&mut chat.nvim));
    }
}

#[test]
fn auto_write_works_where_a_swap_file_was_left_alone() {
    let first = killed();
    let mut chat = next(&first, [prose(&["one"])]);
    open(&mut chat, "E");
    chat.nvim.wait_for("the text of the file", |nvim| nvim.text() == "@You:\nHello\n");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply in the file", |_| first.nvim.file("notes.chat").contains("@Assistant:\none"));
    let told = said(&mut chat.nvim);
    assert!(!told.contains("is open in") && !told.contains("was not written"), "{told}");
}

#[test]
fn markdown_keeps_its_signs_in_a_recovered_text() {
    let first = killed();
    let mut chat = next(&first, []);
    open(&mut chat, "R");
    read_on(&mut chat);
    chat.wait_until_idle();
    chat.nvim.input("GoSome **bold** words<Esc>ggo<Esc>");
    chat.nvim.wait_for_screen("Some **bold** words");
    let conceals = "return require('flemma.view.overlays').conceals_markdown(vim.fn.bufnr('notes.chat'))";
    assert_eq!(chat.nvim.lua(conceals, &[]), false, "the level is not the user's");
}

/// Neovim reports an undone reload while the text may not be changed.
#[test]
fn an_undone_reload_restores_the_result_that_it_lost() {
    let bash = |command: &str| serde_json::json!({ "label": null, "command": command, "timeout": null });
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &bash("echo r; sleep 60"))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.input("<M-CR>");
    let file = chat.nvim.work().join("notes.chat");
    chat.nvim.wait_for("the file of the running call", |_| {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("status=running"))
    });
    chat.nvim.wait_for("the end of the write", |nvim| !nvim.lua("return vim.bo.modified", &[]).as_bool().unwrap());
    chat.nvim.input(":edit<CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("`toolu_1` (error)"));
    chat.wait_until_idle();
    // The step back to the text before the reload.
    chat.nvim.command(
        "silent undo | while getline('$') == '```' && search('flemma:tool', 'nw') == 0 | silent undo | endwhile",
    );
    chat.nvim.wait_for("the result again", |nvim| nvim.text().contains("`toolu_1` (error)"));
    let told = said(&mut chat.nvim);
    assert!(told.contains("its result was restored") && !told.contains("E565"), "{told}");
}
