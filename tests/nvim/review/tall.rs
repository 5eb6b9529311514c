//! Changes that need more room than the window of the file has.

use serde_json::json;

use super::{super::chat::Chat, content, lines, waiting, write};

const INLINE: &str = "tools = { auto_approve = {}, review = { view = 'inline' } }";

/// Presses the key, and waits for text in the window of the file: the preview in the conversation shows the change as well.
fn open(chat: &mut Chat, texts: &[&str]) {
    chat.nvim.input("gK");
    let at = "return vim.fn.expand('%:t') == 'a.txt' and not vim.bo.modifiable";
    chat.nvim.wait_for("the view", |nvim| nvim.lua(at, &[]) == true);
    for text in texts {
        chat.nvim.wait_for(text, |nvim| rows(nvim).iter().any(|row| row.contains(text)));
    }
}

/// The rows of the current window on the screen.
fn rows(nvim: &mut super::Nvim) -> Vec<String> {
    let place = nvim.lua("return { vim.fn.win_screenpos(0)[1] - 1, vim.api.nvim_win_get_height(0) }", &[]);
    let [first, count] = [0, 1].map(|at| usize::try_from(place[at].as_u64().unwrap()).unwrap());
    nvim.screen()[first..first + count].to_vec()
}

#[test]
fn a_change_in_a_line_that_fills_the_window_is_seen() {
    // Eight kilobytes, without blanks and with them; and half a megabyte.
    let both = (["old one", "old end"], ["NEW one", "NEW end"]);
    let last = (["same", "old end"], ["same", "NEW end"]);
    for (piece, size, (old, new)) in
        [("0123456789", 400, both), ("012 456 89", 400, both), ("0123456789", 25_000, last)]
    {
        let start = piece.repeat(size);
        let text = |[one, two]: [&str; 2]| format!("{start}{one}{start}{two}\n");
        let shown: Vec<&str> = [old, new].concat().into_iter().filter(|word| *word != "same").collect();
        let (old, new) = (text(old), text(new));
        let mut chat = waiting(&[("a.txt", &old)], "write", &write("a.txt", &new), INLINE);
        open(&mut chat, &shown);
        chat.nvim.input("gA");
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(content(&chat, "a.txt"), new);
    }
}

#[test]
fn what_comes_after_a_line_that_fills_the_window_is_seen() {
    let old = format!("{}\n", "0123456789".repeat(800));
    let mut chat = waiting(&[("a.txt", &old)], "write", &write("a.txt", &format!("{old}behind\n")), INLINE);
    // The user's own window, which looks as before when the review is over.
    chat.nvim.command("split a.txt | wincmd p");
    open(&mut chat, &["behind"]);
    assert_eq!(chat.nvim.lua("return vim.wo.wrap", &[]), false);
    chat.nvim.input("q");
    let wraps =
        "local win = vim.fn.bufwinid('a.txt') return vim.wo[win].wrap and vim.bo[vim.fn.bufnr('a.txt')].modifiable";
    chat.nvim.wait_for("the window as it was", |nvim| nvim.lua(wraps, &[]) == true);
}

#[test]
fn a_hunk_that_is_higher_than_the_window_says_so() {
    let new = (0..60).map(|line| format!("new {line}\n")).collect::<String>();
    let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &(lines() + &new)), INLINE);
    chat.nvim.command("split a.txt | resize 12 | wincmd p");
    open(&mut chat, &["new 9", "… 50 more lines; gK shows them"]);
    // With a line below it, the rest is scrolled to.
    let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &(new + &lines())), INLINE);
    chat.nvim.command("split a.txt | resize 12 | wincmd p");
    open(&mut chat, &["new 0", "more lines; gK shows them"]);
    // In a higher window there is more of it.
    chat.nvim.command("resize 30");
    chat.nvim.wait_for("more rows", |nvim| rows(nvim).iter().any(|row| row.contains("new 25")));
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), json!(false));
}
