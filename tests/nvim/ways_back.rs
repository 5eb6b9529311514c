//! Taking back what tools have changed in files, as a user does it.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, call, prose, said},
    support::Nvim,
};

const OPTIONS: &str = "tools = { auto_approve = { 'write', 'edit' } }";

/// Another program handles nothing, and answers of the user are given in advance.
const ANSWERS: &str = "vim.o.autoread = false
    asked = {}
    vim.ui.select = function(items, opts, on_choice)
      asked[#asked + 1] = opts.prompt .. ' ' .. items[2]
      on_choice(items[vim.g.answer], vim.g.answer)
    end";

fn write(path: &str, content: &str) -> Value {
    json!({ "label": null, "path": path, "content": content })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "label": null, "path": path, "old_text": old, "new_text": new })
}

/// A conversation in which the model has changed three files in two turns.
fn start() -> Chat {
    let files = [("a.txt", "one\ntwo\nthree\n"), ("run.sh", "old\n")];
    let setup = Setup { files: &files, options: OPTIONS, lua: ANSWERS, ..Setup::default() };
    let replies = [
        call("toolu_1", "edit", &edit("a.txt", "two", "2")),
        prose(&["first done"]),
        call("toolu_2", "write", &write("run.sh", "new\n")),
        call("toolu_3", "write", &write("made/here/c.txt", "c\n")),
        prose(&["second done"]),
    ];
    let mut chat = Chat::start(&setup, replies);
    fs::set_permissions(chat.nvim.work().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the first turn", |nvim| nvim.text().contains("first done"));
    chat.wait_until_idle();
    chat.nvim.input("GoGo on<Esc><C-]>");
    chat.nvim.wait_for("the second turn", |nvim| nvim.text().contains("second done"));
    chat.wait_until_idle();
    chat
}

/// Types a command and waits for what it shows.
fn shown(nvim: &mut Nvim, command: &str, words: &str) -> String {
    nvim.input(&format!(":{command}<CR>"));
    nvim.wait_for(words, |nvim| {
        let is_ours = nvim.lua("return vim.bo.buftype", &[]) == "nofile";
        is_ours && nvim.text().contains(words)
    });
    nvim.text()
}

fn wait_for_message(nvim: &mut Nvim, words: &str) {
    nvim.wait_for(words, |nvim| said(nvim).contains(words));
    nvim.command("messages clear");
}

/// Waits until it is known that nobody else holds the conversation: before that, nothing is taken back.
fn wait_for_lock(nvim: &mut Nvim) {
    nvim.wait_for("the lock", |nvim| {
        nvim.lua("return require('flemma.native').call('state', vim.api.nvim_get_current_buf(), 'settled')", &[])
            == true
            && nvim.lua("return vim.bo.modifiable and not vim.bo.readonly", &[]) == true
    });
}

fn path(chat: &Chat, name: &str) -> PathBuf {
    chat.nvim.work().join(name)
}

fn content(chat: &Chat, name: &str) -> String {
    fs::read_to_string(path(chat, name)).unwrap_or_else(|_| "(gone)".to_owned())
}

#[test]
fn undo_shows_a_diff_asks_and_goes_back_and_forward() {
    let mut chat = start();
    // The file is open, with a history of its own.
    chat.nvim.command("tabedit a.txt | call setline(1, 'ONE') | write | tabclose | messages clear");
    chat.nvim.command("tabnext 1");
    let text = shown(&mut chat.nvim, "Flemma undo", "made/here/c.txt (before toolu_3)");
    assert!(text.contains("(the file is deleted)") && text.contains("-c") && !text.contains("run.sh"), "{text}");
    chat.nvim.input("q");
    chat.nvim.wait_for("one tab", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    assert_eq!(content(&chat, "made/here/c.txt"), "c\n", "q means no");
    shown(&mut chat.nvim, "Flemma undo", "toolu_3");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for("one tab", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    assert_eq!(content(&chat, "made/here/c.txt"), "c\n", ":q means no");
    shown(&mut chat.nvim, "Flemma undo", "toolu_3");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert!(!path(&chat, "made").exists(), "the folders go too");
    // Given again, it goes one further back; the mode comes back.
    fs::set_permissions(path(&chat, "run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    shown(&mut chat.nvim, "Flemma undo", "run.sh (before toolu_2)");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert_eq!(content(&chat, "run.sh"), "old\n");
    // Forward again, both of them.
    for (call, file) in [("toolu_2", "run.sh"), ("toolu_3", "c.txt")] {
        let text = shown(&mut chat.nvim, "Flemma redo", call);
        assert!(text.contains(file), "{text}");
        chat.nvim.input("gg<CR>");
        wait_for_message(&mut chat.nvim, "made again 1 file");
    }
    assert_eq!((content(&chat, "run.sh"), content(&chat, "made/here/c.txt")), ("new\n".into(), "c\n".into()));
    chat.nvim.input(":Flemma redo<CR>");
    wait_for_message(&mut chat.nvim, "redo: nothing was taken back that could be made again");
    // Somebody else has changed this one: there is a question of its own, whose default keeps the file.
    chat.nvim.command("let g:answer = 1");
    let text = shown(&mut chat.nvim, "Flemma undo toolu_1", "a.txt was changed by somebody else");
    assert!(text.contains("-2") && text.contains("+two"), "{text}");
    chat.nvim.input("gg<CR>");
    wait_for_message(
        &mut chat.nvim,
        "nothing was changed. Left alone: a.txt was changed by somebody else, and was kept",
    );
    assert_eq!(content(&chat, "a.txt"), "ONE\n2\nthree\n");
    chat.nvim.command("let g:answer = 2");
    shown(&mut chat.nvim, "Flemma undo toolu_1", "a.txt was changed by somebody else");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert_eq!(content(&chat, "a.txt"), "one\ntwo\nthree\n");
    assert_eq!(chat.nvim.lua("return #asked", &[]), 2);
    // Its buffer shows it, and undo goes back over it.
    chat.nvim.command("tabedit a.txt");
    assert_eq!(chat.nvim.text(), "one\ntwo\nthree\n");
    chat.nvim.input("u");
    chat.nvim.wait_for("the text before", |nvim| nvim.text() == "ONE\n2\nthree\n");
    chat.nvim.command("silent! undo 0");
    assert_eq!(chat.nvim.text(), "one\n2\nthree\n", "the user's own history is there");
}

#[test]
fn rollback_goes_to_the_message_under_the_cursor() {
    let mut chat = start();
    chat.nvim.command("messages clear");
    // A file with unsaved changes is left alone; the others go back.
    chat.nvim.command("tabedit run.sh | call setline(1, 'mine') | tabprevious");
    chat.go_to("Go on");
    let text = shown(&mut chat.nvim, "Flemma rollback", "before toolu_3");
    assert!(text.contains("# Not possible: run.sh has changes in the editor that are not saved"), "{text}");
    assert!(!text.contains("a.txt"), "{text}");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file. Left alone: run.sh has changes in the editor");
    assert_eq!((content(&chat, "run.sh"), content(&chat, "made/here/c.txt")), ("new\n".into(), "(gone)".into()));
    chat.nvim.command("tabnext | edit! | tabprevious");
    // What is written while the user looks is not overwritten.
    shown(&mut chat.nvim, "Flemma rollback", "before toolu_2");
    fs::write(path(&chat, "run.sh"), "meanwhile\n").unwrap();
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "run.sh has changed in the meantime and was left alone");
    fs::write(path(&chat, "run.sh"), "new\n").unwrap();
    // From the first message everything goes.
    chat.nvim.command("messages clear");
    chat.go_to("Hello");
    let text = shown(&mut chat.nvim, "Flemma rollback", "before toolu_2");
    assert!(text.contains("before toolu_1"), "{text}");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 2 files");
    assert_eq!((content(&chat, "run.sh"), content(&chat, "a.txt")), ("old\n".into(), "one\ntwo\nthree\n".into()));
    chat.go_to("Hello");
    chat.nvim.input(":Flemma rollback<CR>");
    wait_for_message(&mut chat.nvim, "rollback: no file was written after this message");
    chat.nvim.input(":Flemma undo<CR>");
    wait_for_message(&mut chat.nvim, "undo: all that this conversation has written is taken back");
    chat.nvim.input(":Flemma undo toolu_9<CR>");
    wait_for_message(&mut chat.nvim, "undo: toolu_9 has written no file in this conversation");
    chat.nvim.input(":Flemma undo toolu_1 toolu_2<CR>");
    wait_for_message(&mut chat.nvim, "takes the id of one call");
    assert_eq!(chat.nvim.lua("return #asked", &[]), 0);
    assert!(!chat.nvim.text().contains("took back"), "the conversation is as it was");
}

#[test]
fn the_question_says_that_a_file_is_deleted() {
    let mut chat = start();
    fs::write(path(&chat, "made/here/c.txt"), "c\nmine\n").unwrap();
    chat.nvim.command("let g:answer = 2 | messages clear");
    shown(&mut chat.nvim, "Flemma undo toolu_3", "c.txt was changed by somebody else");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    let asked = "Somebody else has changed made/here/c.txt. Going back loses that: Delete it";
    assert_eq!(chat.nvim.lua("return asked", &[]), json!([asked]));
    assert_eq!(content(&chat, "made/here/c.txt"), "(gone)");
}

#[test]
fn commands_in_the_preview_are_about_its_conversation() {
    let mut chat = start();
    // The cursor of the conversation says from where a rollback goes, and not that of the preview.
    chat.go_to("Go on");
    shown(&mut chat.nvim, "Flemma undo", "before toolu_3");
    chat.nvim.command("messages clear");
    chat.nvim.input("<C-]>");
    wait_for_message(&mut chat.nvim, "Enter on the first line does it");
    chat.nvim.input(":Flemma redo<CR>");
    wait_for_message(&mut chat.nvim, "redo: nothing was taken back that could be made again");
    shown(&mut chat.nvim, "Flemma status", "claude-test");
    chat.nvim.input("q");
    let text = shown(&mut chat.nvim, "Flemma rollback", "before toolu_2");
    assert!(text.contains("before toolu_3") && !text.contains("toolu_1"), "{text}");
}

#[test]
fn changes_walks_through_what_the_turn_has_written() {
    let mut chat = start();
    fs::write(path(&chat, "a.txt"), "one\n2\nthree\nfour\n").unwrap();
    shown(&mut chat.nvim, "Flemma undo", "toolu_3");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    chat.nvim.input(":Flemma changes<CR>");
    // The other file of the turn was taken back, and the first turn is another one.
    chat.nvim.wait_for("the file", |nvim| nvim.lua("return vim.fn.expand('%:t')", &[]) == "run.sh");
    chat.nvim.wait_for_screen("run.sh (before the turn)");
    let sides =
        "return { vim.fn.getbufline(vim.fn.winbufnr(1), 1)[1], vim.fn.getline(1), vim.wo.diff, vim.bo.buflisted }";
    assert_eq!(chat.nvim.lua(sides, &[]), json!(["old", "new", true, true]));
    chat.nvim.input("]f");
    wait_for_message(&mut chat.nvim, "this is the last file of the change");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.fn.expand('%:t')", &[]) == "notes.chat");
    let trace = "return { vim.fn.bufexists('run.sh'), #vim.api.nvim_list_tabpages(), #vim.api.nvim_buf_get_keymap(vim.fn.bufnr('run.sh'), 'n') }";
    assert_eq!(chat.nvim.lua(trace, &[]), json!([1, 1, 0]));
    // Another Neovim that only looks at the conversation takes nothing back.
    let file = path(&chat, "notes.chat");
    let mut other = Chat::another(&chat, &file, (OPTIONS, ANSWERS), []);
    other.nvim.wait_for("who holds it", |nvim| said(nvim).contains("is open in another Neovim"));
    other.nvim.command("messages clear");
    other.nvim.input(":Flemma undo<CR>");
    wait_for_message(&mut other.nvim, "undo: notes.chat is open in another Neovim");
    assert_eq!(content(&chat, "run.sh"), "new\n");
    // The next session still can.
    drop(other);
    chat.nvim.command("wincmd o");
    chat.nvim.command("silent! wall | silent! buffer notes.chat | bdelete! notes.chat");
    let mut next = Chat::another(&chat, &file, (OPTIONS, ANSWERS), []);
    wait_for_lock(&mut next.nvim);
    shown(&mut next.nvim, "Flemma undo", "before toolu_2");
    next.nvim.input("gg<CR>");
    wait_for_message(&mut next.nvim, "took back 1 file");
    assert_eq!(content(&chat, "run.sh"), "old\n");
}

#[test]
fn saveas_takes_the_changes_of_a_conversation_along() {
    let mut chat = start();
    chat.nvim.command("silent saveas copy.chat | messages clear");
    wait_for_lock(&mut chat.nvim);
    chat.wait_until_idle();
    chat.nvim.input(":Flemma changes<CR>");
    chat.nvim.wait_for_screen("1/2 run.sh (before the turn)");
    chat.nvim.input("]f");
    chat.nvim.wait_for_screen("2/2 made/here/c.txt (did not exist)");
    assert_eq!(chat.nvim.text(), "c\n");
    chat.nvim.input(":tabclose<CR>");
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.fn.expand('%:t')", &[]) == "copy.chat");
    shown(&mut chat.nvim, "Flemma undo", "made/here/c.txt (before toolu_3)");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert_eq!(content(&chat, "made/here/c.txt"), "(gone)");
    chat.go_to("Go on");
    let text = shown(&mut chat.nvim, "Flemma rollback", "run.sh (before toolu_2)");
    assert!(!text.contains("toolu_1") && !text.contains("toolu_3"), "{text}");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert_eq!((content(&chat, "run.sh"), content(&chat, "a.txt")), ("old\n".into(), "one\n2\nthree\n".into()));
    // The file that it was saved from knows of the same writes, and that one of them still stands.
    chat.nvim.command("silent edit notes.chat | messages clear");
    wait_for_lock(&mut chat.nvim);
    chat.wait_until_idle();
    shown(&mut chat.nvim, "Flemma undo toolu_1", "a.txt (before toolu_1)");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert_eq!(content(&chat, "a.txt"), "one\ntwo\nthree\n");
}

/// A conversation with these options in which a tool has changed a small file and a large one.
fn start_with(backups: &str) -> Chat {
    let files = [("small.txt", "one\n"), ("large.txt", "a line of more than ten bytes\n")];
    let options = format!("tools = {{ auto_approve = {{ 'write' }}, backups = {{ {backups} }} }}");
    let setup = Setup { files: &files, options: &options, lua: ANSWERS, ..Setup::default() };
    let replies = [
        call("toolu_1", "write", &write("small.txt", "two\n")),
        call("toolu_2", "write", &write("large.txt", "2\n")),
        prose(&["done"]),
    ];
    let mut chat = Chat::start(&setup, replies);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the turn", |nvim| nvim.text().contains("@Assistant:\ndone"));
    chat.wait_until_idle();
    chat.nvim.command("messages clear");
    assert_eq!((content(&chat, "small.txt"), content(&chat, "large.txt")), ("two\n".into(), "2\n".into()));
    chat
}

#[test]
fn backups_keep_what_their_options_allow() {
    // A file that is larger than all of them may be is changed without a copy.
    let mut chat = start_with("max_bytes = 10");
    let words = "# Not possible: large.txt cannot be taken back: what it was is no longer kept (tools.backups).";
    let text = shown(&mut chat.nvim, "Flemma undo", words);
    assert!(text.starts_with("# Nothing of this can be done."), "{text}");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "nothing of this can be done");
    chat.nvim.input("q");
    shown(&mut chat.nvim, "Flemma undo toolu_1", "small.txt (before toolu_1)");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert_eq!((content(&chat, "small.txt"), content(&chat, "large.txt")), ("one\n".into(), "2\n".into()));
    drop(chat);
    // Nothing is kept.
    let mut chat = start_with("enabled = false");
    chat.nvim.input(":Flemma undo<CR>");
    wait_for_message(&mut chat.nvim, "undo: this conversation has written no file, as far as is recorded");
    chat.nvim.input(":Flemma changes<CR>");
    wait_for_message(&mut chat.nvim, "changes: the last turn has written no file");
    assert!(!chat.nvim.folder("state").join("nvim/flemma/changes").exists());
}

#[test]
fn a_key_pressed_without_meaning_it_takes_nothing_back() {
    let mut chat = start();
    shown(&mut chat.nvim, "Flemma undo", "made/here/c.txt (before toolu_3)");
    chat.nvim.input("yy");
    chat.nvim.wait_for("the register", |nvim| nvim.lua("return vim.fn.getreg('\"') ~= ''", &[]) == true);
    chat.nvim.input("<CR>");
    wait_for_message(&mut chat.nvim, "Enter on the first line does it");
    assert_eq!(content(&chat, "made/here/c.txt"), "c\n");
    chat.nvim.input("gg<CR>");
    wait_for_message(&mut chat.nvim, "took back 1 file");
    assert!(!path(&chat, "made").exists());
}
