//! What the user has decided at the moment in which they leave Neovim.

use std::fs;

use serde_json::json;

use super::{
    super::{
        anthropic::Stream,
        chat::{Chat, Setup, prose, reply},
    },
    ASK, edit, lines, open, waiting,
};

const INLINE: &str = "tools = { auto_approve = {}, review = { view = 'inline' } }";

/// The call of a conversation waits, and this is what the file has.
fn one_edit(options: &str) -> Chat {
    waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), options)
}

/// Waits for the end of the editor, opens the file in another one, and presses Ctrl-]. Gives what the changed file has then.
#[track_caller]
fn carried_on(chat: &mut Chat, how: &str) -> String {
    let (file, changed) = (chat.nvim.work().join("notes.chat"), chat.nvim.work().join("a.txt"));
    chat.nvim.wait_for_exit();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("status=approved"), "{how}: {text}");
    assert_eq!(fs::read_to_string(&changed).unwrap(), lines(), "{how}: nothing is written at the exit");
    let mut next = Chat::another(chat, &file, (ASK, ""), [prose(&["fine"])]);
    next.wait_until_idle();
    assert!(next.nvim.text().contains("status=approved"), "{how}: nothing starts by itself: {}", next.nvim.text());
    next.nvim.input("<C-]>");
    next.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    fs::read_to_string(changed).unwrap()
}

#[test]
fn what_is_accepted_at_the_exit_is_kept() {
    let proposed = lines().replace("line 5", "LINE 5");
    let edited = format!("mine\n{proposed}");
    for (keys, expected) in [("Omine<Esc>gA:qa<CR>", &edited), ("gA:qa<CR>", &proposed)] {
        let mut chat = one_edit("");
        open(&mut chat);
        chat.nvim.input(&format!("gg{keys}"));
        assert_eq!(carried_on(&mut chat, keys), *expected, "{keys}");
    }
}

#[test]
fn what_is_approved_without_a_view_is_kept_at_the_exit() {
    for keys in [":Flemma tool:approve<CR>:qa<CR>", "<M-CR>:qa<CR>"] {
        let mut chat = one_edit("");
        chat.nvim.input(keys);
        assert_eq!(carried_on(&mut chat, keys), lines().replace("line 5", "LINE 5"), "{keys}");
    }
}

/// A command runs meanwhile, and is cancelled by the exit.
#[test]
fn what_is_approved_while_a_tool_runs_is_kept_at_the_exit() {
    let stream = Stream::new()
        .tool_use("toolu_1", "edit", &[&edit("a.txt", "line 5", "LINE 5").to_string()])
        .tool_use("toolu_2", "bash", &[&json!({ "label": null, "command": "sleep 600" }).to_string()])
        .end("tool_use");
    let options = "tools = { auto_approve = { 'bash' } }";
    for keys in [":Flemma tool:approve<CR>:qa!<CR>", "<M-CR>:qa!<CR>", "gK", "gKgA:qa!<CR>"] {
        let setup = Setup { files: &[("a.txt", &lines())], options, ..Setup::default() };
        let mut chat = Chat::start(&setup, [reply(&stream)]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("both", |nvim| {
            let text = nvim.text();
            text.contains("status=pending") && text.contains("status=running")
        });
        chat.nvim.wait_for("the proposal", |nvim| nvim.row_with("+LINE 5").is_some());
        chat.nvim.lua("vim.fn.search('toolu_1')", &[]);
        if let Some(rest) = keys.strip_prefix("gK") {
            open(&mut chat);
            chat.nvim.input(if rest.is_empty() { "ggOmine<Esc>gA:qa!<CR>" } else { rest });
        } else {
            chat.nvim.input(keys);
        }
        let prefix = if keys == "gK" { "mine\n" } else { "" };
        assert_eq!(carried_on(&mut chat, keys), prefix.to_owned() + &lines().replace("line 5", "LINE 5"), "{keys}");
    }
}

#[test]
fn what_is_approved_in_the_file_is_kept_at_the_exit() {
    let mut chat = one_edit(INLINE);
    chat.nvim.input("gK");
    let at = "return vim.fn.expand('%:t') == 'a.txt' and vim.b.flemma_review ~= nil";
    chat.nvim.wait_for("the view", |nvim| nvim.lua(at, &[]) == true);
    chat.nvim.input("gA:qa<CR>");
    assert_eq!(carried_on(&mut chat, "gA"), lines().replace("line 5", "LINE 5"));
}

#[test]
fn what_is_left_undecided_at_the_exit_still_waits() {
    for keys in [":qa<CR>", "Omine<Esc>:qa!<CR>"] {
        let mut chat = one_edit("");
        open(&mut chat);
        chat.nvim.input(keys);
        let file = chat.nvim.work().join("notes.chat");
        chat.nvim.wait_for_exit();
        assert!(fs::read_to_string(file).unwrap().contains("status=pending"), "{keys}");
    }
}

/// The editor was left with edits that were accepted, and the file is open in another one.
fn reopened(replies: usize) -> (Chat, Chat) {
    let mut chat = one_edit("");
    open(&mut chat);
    chat.nvim.input("ggOmine<Esc>gA:qa!<CR>");
    chat.nvim.wait_for_exit();
    let file = chat.nvim.work().join("notes.chat");
    let mut next = Chat::another(&chat, &file, (ASK, ""), (0..replies).map(|_| prose(&["fine"])));
    next.wait_until_idle();
    (chat, next)
}

#[test]
fn what_was_accepted_before_the_exit_is_what_is_shown() {
    let (chat, mut next) = reopened(1);
    next.nvim.wait_for("the edits", |nvim| nvim.row_with("+mine").is_some());
    next.nvim.command("call search('toolu_1')");
    next.nvim.input("<M-CR>");
    next.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let expected = format!("mine\n{}", lines().replace("line 5", "LINE 5"));
    assert_eq!(fs::read_to_string(chat.nvim.work().join("a.txt")).unwrap(), expected);
}

/// The file is another one when the call is to be carried out.
#[test]
fn what_was_accepted_before_the_exit_is_not_lost() {
    let (chat, mut next) = reopened(1);
    let file = chat.nvim.work().join("a.txt");
    fs::write(&file, lines() + "theirs\n").unwrap();
    next.send_until("status=pending");
    open(&mut next);
    let expected = format!("mine\n{}", lines().replace("line 5", "LINE 5"));
    assert_eq!(next.nvim.text(), expected);
    next.nvim.wait_for_screen("the file has changed");
    next.nvim.input("gAgA");
    next.nvim.wait_for("the change", |_| fs::read_to_string(&file).unwrap() == expected);
}
