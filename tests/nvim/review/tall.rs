//! Changes that need more room than the window of the file has.

use serde_json::json;

use super::{super::chat::Chat, content, lines, wait_for_message, waiting, write};

const INLINE: &str = "tools = { auto_approve = {}, review = { view = 'inline' } }";

/// Presses the key, and waits for text in the window of the file: the preview in the conversation shows the change as well.
fn open(chat: &mut Chat, texts: &[&str]) {
    chat.nvim.input("gK");
    let at = "return vim.fn.expand('%:t') == 'a.txt' and vim.b.flemma_review ~= nil";
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

/// Nothing is seen below such a line.
#[test]
fn a_line_that_fills_the_window_is_shown_side_by_side() {
    let start = "0123456789".repeat(400);
    let (old, new) = (format!("{start}old one\n"), format!("{start}NEW one\nbehind\n"));
    let mut chat = waiting(&[("a.txt", &old)], "write", &write("a.txt", &new), INLINE);
    chat.nvim.input("gK");
    wait_for_message(&mut chat.nvim, "shown side by side: a line of a.txt fills the window");
    chat.nvim.wait_for_screen("old one");
    chat.nvim.wait_for_screen("NEW one");
    chat.nvim.input("gA");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(content(&chat, "a.txt"), new);
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
