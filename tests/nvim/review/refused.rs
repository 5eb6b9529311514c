//! An approval that is refused, because the file has changed: the user looks at the call again.

use std::fs;

use super::{
    super::{
        anthropic::Stream,
        chat::{Chat, Setup, prose, reply, said},
    },
    ASK, edit, lines, wait_for_message, waiting, write,
};

#[test]
fn a_refused_approval_opens_its_block() {
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "");
    chat.nvim.wait_for_screen("+LINE 5");
    // The second window shows it as well.
    chat.nvim.command("vsplit");
    for (at, keys) in ["", "zc", "zM"].into_iter().enumerate() {
        chat.go_to("**Tool Result:** `toolu_1`");
        chat.nvim.input(keys);
        let theirs = lines().replace("line 19", &format!("theirs {at}"));
        fs::write(chat.nvim.work().join("a.txt"), &theirs).unwrap();
        chat.nvim.command("Flemma tool:approve");
        wait_for_message(&mut chat.nvim, "the file has changed since you were shown");
        chat.nvim.wait_for(&format!("the block after `{keys}`"), |nvim| {
            let open = nvim.lua(
                "local line = vim.fn.search('status=pending', 'nw')
                 return line > 0 and vim.iter(vim.api.nvim_tabpage_list_wins(0)):all(function(win)
                   return vim.api.nvim_win_call(win, function() return vim.fn.foldclosed(line) == -1 end)
                 end)",
                &[],
            );
            open == true
        });
        chat.wait_until_idle();
    }
}

/// Whoever reviews a call sees its conversation: a note that it waits would take the place of the reason.
#[test]
fn the_reason_of_a_refusal_stays_on_the_screen() {
    let calls = Stream::new()
        .tool_use("toolu_1", "write", &[&write("n.txt", "one\n").to_string()])
        .tool_use("toolu_2", "edit", &[&edit("n.txt", "one", "two").to_string()])
        .end("tool_use");
    let mut chat = Chat::start(&Setup { options: ASK, ..Setup::default() }, [reply(&calls), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the calls", |nvim| nvim.text().matches("status=pending").count() == 2);
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_2`");
    chat.nvim.input("gK");
    chat.nvim.wait_for("the view", |nvim| nvim.lua("return vim.wo.diff", &[]) == true);
    chat.nvim.input("gA");
    wait_for_message(&mut chat.nvim, "nothing was written");
    let is_idle = "return require('flemma.native').call('state', vim.fn.bufnr('notes.chat'), 'at_rest')";
    chat.nvim.wait_for("rest", |nvim| nvim.lua(is_idle, &[]) == true);
    assert!(!said(&mut chat.nvim).contains("waits for your approval"), "{}", said(&mut chat.nvim));
}
