//! An approval that is refused, because the file has changed: the user looks at the call again.

use std::fs;

use super::{edit, lines, wait_for_message, waiting};

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
