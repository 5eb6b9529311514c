//! What happens while the change of a call is on the screen.

use std::fs;

use super::{
    super::anthropic::Stream,
    super::chat::{Chat, Setup, prose, reply},
    ASK, content, edit, lines, open, traces, wait_for_message, waiting, write,
};

fn one_edit() -> Chat {
    waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "")
}

fn is_view(chat: &mut Chat) -> bool {
    chat.nvim.lua("return vim.bo.buftype", &[]) == "acwrite"
}

fn wait_for_chat(chat: &mut Chat) {
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua("return vim.bo.filetype", &[]) == "chat");
}

/// The user's own text in the right side.
fn type_into(chat: &mut Chat) {
    chat.nvim.input("ggOmine<Esc>");
    chat.nvim.wait_for("the text", |nvim| nvim.lines(0)[0] == "mine");
}

#[test]
fn what_is_edited_is_written_and_hunks_can_be_left() {
    let new = lines().replace("line 2\n", "LINE 2\n").replace("line 18\n", "");
    let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &new), "");
    open(&mut chat);
    assert_eq!(chat.nvim.cursor(), (2, 0));
    // Neovim's own keys of diff mode: the first hunk is left out, the second is edited.
    chat.nvim.input("do]c");
    chat.nvim.wait_for("the second hunk", |nvim| nvim.cursor().0 >= 17);
    chat.nvim.input("Gomine<Esc>");
    chat.nvim.input("gA");
    wait_for_chat(&mut chat);
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), lines().replace("line 18\n", "") + "mine\n");
}

#[test]
fn leaving_everything_out_approves_nothing() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input("dogA");
    wait_for_message(&mut chat.nvim, "nothing is left of the change, so toolu_1 was not approved; gX rejects it");
    assert!(is_view(&mut chat));
    chat.nvim.input("gXthe other file<CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert!(chat.nvim.text().contains("the other file"));
    assert_eq!(content(&chat, "a.txt"), lines());
    assert!(chat.messages(1)[2]["content"][0]["content"].to_string().contains("the other file"));
}

#[test]
fn a_call_that_is_decided_elsewhere_ends_its_review() {
    // By its deadline, by a key in another window, by Lua.
    let deadline = "tools = { auto_approve = {}, deadlines = { approval = 3 } }";
    for (how, options) in [("", deadline), ("Flemma tool:reject no", ASK), ("resolve", ASK)] {
        for has_edits in [false, true] {
            let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), options);
            let before = traces(&mut chat.nvim);
            open(&mut chat);
            if has_edits {
                type_into(&mut chat);
            }
            if how == "resolve" {
                chat.nvim.lua(
                    "require('flemma.tools').resolve(vim.fn.bufnr('notes.chat'), 'toolu_1', { approved = false, message = 'no' })",
                    &[],
                );
            } else if !how.is_empty() {
                for command in ["tabnext", how, "tabprevious"] {
                    chat.nvim.command(command);
                }
            }
            if has_edits {
                chat.nvim.wait_for_screen("ended: nothing is written any more");
                assert_eq!(chat.nvim.lines(0)[0], "mine", "{how}");
                wait_for_message(&mut chat.nvim, "what you have edited stays in flemma://review/toolu_1/a.txt");
                chat.nvim.input(":bw!<CR>");
            }
            wait_for_chat(&mut chat);
            chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
            chat.wait_until_idle();
            assert_eq!(content(&chat, "a.txt"), lines(), "{how}");
            let now = traces(&mut chat.nvim);
            for at in [0, 2, 4, 5, 6, 7, 10] {
                assert_eq!(now[at], before[at], "{how}: {at}");
            }
        }
    }
}

/// Another program writes this just before the library hears of an approval: the view's last look has found nothing.
fn write_before_the_approval(chat: &mut Chat, theirs: &str) {
    let path = chat.nvim.work().join("a.txt");
    chat.nvim.lua(
        "local path, text = ...
         local native = require('flemma.native')
         local call = native.call
         native.call = function(name, buf, what, ...)
           if name == 'dispatch' and what == 'accept' then
             native.call = call
             local file = assert(io.open(path, 'w'))
             file:write(text)
             file:close()
           end
           return call(name, buf, what, ...)
         end",
        &[path.to_str().unwrap().into(), theirs.into()],
    );
}

#[test]
fn a_file_that_changes_before_the_write_is_shown_again() {
    let theirs = lines().replace("line 19", "theirs");
    for has_edits in [false, true] {
        let mut chat = one_edit();
        open(&mut chat);
        if has_edits {
            type_into(&mut chat);
        }
        write_before_the_approval(&mut chat, &theirs);
        chat.nvim.input("gA");
        wait_for_message(&mut chat.nvim, "the file has changed since you were shown this change");
        assert_eq!(content(&chat, "a.txt"), theirs, "nothing was written");
        // What notices it first decides whether the view is still there: what looks at the files of calls that wait, or the approval.
        if chat.nvim.lua("return vim.bo.filetype", &[]) == "chat" {
            chat.wait_until_idle();
            open(&mut chat);
        }
        chat.nvim.wait_for("the new base", |nvim| {
            nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(1), 19)[1]", &[]) == "theirs"
        });
        if has_edits {
            assert_eq!(chat.nvim.lines(0)[0], "mine", "the user's text stays");
            chat.nvim.input(":e!<CR>");
            chat.nvim.wait_for("the new proposal", |nvim| nvim.lines(0)[18] == "theirs");
        }
        chat.nvim.input("gA");
        wait_for_chat(&mut chat);
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(content(&chat, "a.txt"), theirs.replace("line 5\n", "LINE 5\n"));
    }
}

/// The file changes while the approval is on its way, and the new proposal is there before the approval is refused.
#[test]
fn a_proposal_that_comes_during_a_decision_is_shown() {
    let theirs = lines().replace("line 19", "theirs");
    let mut chat = one_edit();
    open(&mut chat);
    let path = chat.nvim.work().join("a.txt");
    chat.nvim.lua(
        "local path, text = ...
         local native, calls = require('flemma.native'), require('flemma.review.calls')
         local call, get, answers = native.call, calls.get, 0
         calls.get = function(buf, id, callback)
           return get(buf, id, function(...)
             callback(...)
             answers = answers + 1
           end)
         end
         native.call = function(name, buf, what, ...)
           if name == 'dispatch' and what == 'accept' then
             native.call = call
             vim.fn.writefile(vim.split(text, '\\n'), path, 'b')
             vim.cmd.doautocmd('FocusGained')
             _G.came = vim.wait(30000, function() return answers > 0 end, 5)
           end
           return call(name, buf, what, ...)
         end",
        &[path.to_str().unwrap().into(), theirs.clone().into()],
    );
    chat.nvim.input("gA");
    wait_for_message(&mut chat.nvim, "the file has changed since you were shown this change");
    assert_eq!(chat.nvim.lua("return came", &[]), true);
    chat.nvim.wait_for("the new base", |nvim| {
        nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(1), 19)[1]", &[]) == "theirs"
    });
    chat.nvim.input("gA");
    wait_for_chat(&mut chat);
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), theirs.replace("line 5\n", "LINE 5\n"));
}

#[test]
fn a_call_is_reviewed_as_it_follows_the_one_above() {
    let [first, second] = [edit("a.txt", "line 5\n", "LINE 5\n"), edit("a.txt", "LINE 5", "the fifth")];
    let stream = Stream::new().tool_use("toolu_1", "edit", &[&first.to_string()]);
    let stream = stream.tool_use("toolu_2", "edit", &[&second.to_string()]);
    let options = "tools = { auto_approve = {}, review = { view = 'inline' } }";
    let setup = Setup { files: &[("a.txt", &lines())], options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("after the call above, edit (toolu_1)");
    chat.wait_until_idle();
    // It cannot be shown in the window of the file, which has something else.
    chat.go_to("**Tool Use:** `edit` (`toolu_2`)");
    open(&mut chat);
    chat.nvim.wait_for_screen("after the call above, edit (toolu_1)");
    assert_eq!(chat.nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(1), 5)[1]", &[]), "LINE 5");
    // The first one is still to be decided.
    chat.nvim.input("gA");
    wait_for_message(&mut chat.nvim, "this change was shown as it follows that of a call above");
    wait_for_chat(&mut chat);
    chat.wait_until_idle();
    assert_eq!(content(&chat, "a.txt"), lines());
    // The cursor is on the call that is to be decided first, as after a key in the conversation.
    chat.go_to("**Tool Use:** `edit` (`toolu_2`)");
    open(&mut chat);
    for command in ["tabnext", "call search('Tool Result:.*toolu_1', 'w')", "Flemma tool:approve", "tabnext"] {
        chat.nvim.command(command);
    }
    chat.nvim
        .wait_for("the first change", |nvim| fs::read_to_string(nvim.work().join("a.txt")).unwrap().contains("LINE 5"));
    chat.nvim.wait_for_screen("a.txt (now)");
    chat.wait_until_idle();
    chat.nvim.input("gA");
    wait_for_chat(&mut chat);
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), lines().replace("line 5\n", "the fifth\n"));
}

#[test]
fn a_file_that_changes_meanwhile_is_proposed_again() {
    let mut chat = one_edit();
    open(&mut chat);
    let theirs = lines().replace("line 19", "theirs");
    fs::write(chat.nvim.work().join("a.txt"), &theirs).unwrap();
    wait_for_message(&mut chat.nvim, "toolu_1: the file has changed, so the proposal was made again");
    assert!(is_view(&mut chat), "it stays where it is");
    assert_eq!(chat.nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(1), 19)[1]", &[]), "theirs");
    assert_eq!(chat.nvim.lines(0)[18], "theirs");
    assert_eq!(content(&chat, "a.txt"), theirs, "nothing was written");
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), theirs.replace("line 5\n", "LINE 5\n"));
}

/// What is at the right would undo what another program has written, which is seen there.
#[test]
fn edits_of_a_file_that_has_changed_need_two_keys() {
    for is_kept in [true, false] {
        let mut chat = one_edit();
        open(&mut chat);
        type_into(&mut chat);
        let mine = chat.nvim.text();
        let theirs = lines().replace("line 10\n", "theirs\n");
        fs::write(chat.nvim.work().join("a.txt"), &theirs).unwrap();
        wait_for_message(&mut chat.nvim, "Your text stays as it is");
        assert_eq!(chat.nvim.text(), mine);
        assert_eq!(chat.nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(1), 10)[1]", &[]), "theirs");
        chat.nvim.wait_for_screen("the file has changed");
        if !is_kept {
            chat.nvim.input(":e!<CR>");
            chat.nvim.wait_for("the proposal", |nvim| nvim.lines(0)[9] == "theirs" && nvim.lines(0)[4] == "LINE 5");
            chat.nvim.input("gA");
            chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
            assert_eq!(content(&chat, "a.txt"), theirs.replace("line 5\n", "LINE 5\n"));
            continue;
        }
        // Nor does a key in the conversation approve it.
        chat.nvim.input("gT");
        wait_for_chat(&mut chat);
        chat.nvim.input(":call search('status=pending')<CR>:Flemma tool:approve<CR>");
        wait_for_message(&mut chat.nvim, "look at it again with gK");
        chat.nvim.input("gtgA");
        wait_for_message(
            &mut chat.nvim,
            "toolu_1 was not approved: the file has changed since you edited the proposal",
        );
        assert_eq!(content(&chat, "a.txt"), theirs);
        chat.nvim.input("gA");
        wait_for_chat(&mut chat);
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(content(&chat, "a.txt"), mine);
    }
}

#[test]
fn the_conversation_may_go_while_it_is_reviewed() {
    for command in ["bwipeout! notes.chat", "bdelete! notes.chat", "bunload! notes.chat"] {
        let mut chat = one_edit();
        open(&mut chat);
        chat.nvim.command(command);
        chat.nvim.wait_for("the end of the view", |nvim| {
            nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1
                && nvim.lua("return #vim.tbl_filter(function(b) return vim.fn.bufname(b):find('^flemma:') ~= nil end, vim.api.nvim_list_bufs())", &[]) == 0
        });
        assert_eq!(content(&chat, "a.txt"), lines());
    }
    // Read again, the call still waits.
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.command("tabnext | edit | tabprevious");
    chat.nvim.wait_for("the text", |nvim| {
        nvim.lua("return require('flemma.native').call('state', vim.fn.bufnr('notes.chat'), 'settled')", &[]) == true
    });
    assert!(is_view(&mut chat));
}

#[test]
fn an_edit_survives_an_exit_that_neovim_refuses() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input("5GccMINE<Esc>:q<CR>");
    wait_for_message(&mut chat.nvim, "it still waits, with your edit");
    // The edit is unsaved, so Neovim shows it and unloads the conversation.
    chat.nvim.input(":quit<CR>");
    chat.nvim.wait_for_screen("E162");
    chat.nvim.input("<CR>");
    wait_for_message(&mut chat.nvim, "still waits, with your edit. `:edit notes.chat` opens its conversation");
    chat.nvim.input(":edit notes.chat<CR>");
    chat.nvim.wait_for("the conversation", |nvim| {
        nvim.lua("return require('flemma.native').call('state', vim.fn.bufnr('notes.chat'), 'settled')", &[]) == true
    });
    chat.nvim.wait_for_screen("as you have edited it");
    chat.go_to("flemma:tool");
    chat.nvim.command("Flemma tool:approve");
    chat.nvim.wait_for("the file", |nvim| nvim.file("a.txt").contains("MINE"));
}

#[test]
fn two_calls_can_be_reviewed_at_once() {
    let input = |path: &str| edit(path, "line 5", "LINE 5").to_string();
    let stream =
        Stream::new().tool_use("toolu_1", "edit", &[&input("a.txt")]).tool_use("toolu_2", "edit", &[&input("b.txt")]);
    let text = lines();
    let setup = Setup { files: &[("a.txt", &text), ("b.txt", &text)], options: ASK, ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the status blocks", |nvim| nvim.text().matches("status=pending").count() == 2);
    chat.wait_until_idle();
    chat.nvim.input("gggK");
    wait_for_message(&mut chat.nvim, "2 calls wait for approval; put the cursor on the one to review");
    chat.go_to("**Tool Use:** `edit` (`toolu_1`)");
    open(&mut chat);
    chat.nvim.command("tabnext");
    chat.go_to("**Tool Result:** `toolu_2`");
    open(&mut chat);
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_tabpages()", &[]), 3);
    // The key goes to the review that is open, from any window.
    chat.nvim.command("tablast | split");
    chat.go_to("**Tool Use:** `edit` (`toolu_1`)");
    open(&mut chat);
    chat.nvim.wait_for("the first", |nvim| nvim.lua("return vim.fn.bufname():find('a.txt$') ~= nil", &[]) == true);
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_tabpages()", &[]), 3);
    chat.nvim.input("gA");
    chat.nvim.wait_for("the file", |nvim| nvim.file("a.txt").contains("LINE 5"));
    assert_eq!(content(&chat, "b.txt"), lines());
    chat.nvim.wait_for("two tabs", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 2);
    chat.nvim.command("tabfirst");
    chat.nvim.wait_for("the second", |nvim| nvim.lua("return vim.fn.bufname():find('b.txt') ~= nil", &[]) == true);
    chat.nvim.input("gA");
    chat.nvim.wait_for("the second file", |nvim| nvim.file("b.txt").contains("LINE 5"));
    chat.nvim.wait_for("one tab", |nvim| nvim.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
}

#[test]
fn a_file_that_does_not_exist_is_shown_as_new() {
    let mut chat = waiting(&[], "write", &write("deep/new.lua", "return 1"), "");
    open(&mut chat);
    chat.nvim.wait_for_screen("deep/new.lua (does not exist)");
    assert_eq!(chat.nvim.lua("return { vim.bo.filetype, vim.bo.endofline }", &[]), serde_json::json!(["lua", false]));
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "deep/new.lua"), "return 1");
}

#[test]
fn leaving_neovim_decides_nothing() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.input(":qa<CR>");
    chat.nvim.wait_for_exit();
    assert_eq!(content(&chat, "a.txt"), lines());
    assert!(content(&chat, "notes.chat").contains("status=pending"));
}

#[test]
fn the_review_may_be_the_last_tab_page() {
    let mut chat = one_edit();
    open(&mut chat);
    chat.nvim.command("tabonly");
    chat.nvim.input("gA");
    wait_for_chat(&mut chat);
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), lines().replace("line 5\n", "LINE 5\n"));
    assert_eq!(
        chat.nvim.lua("return { vim.wo.diff, vim.wo.winbar, #vim.api.nvim_tabpage_list_wins(0) }", &[]),
        serde_json::json!([false, "", 1])
    );
}
