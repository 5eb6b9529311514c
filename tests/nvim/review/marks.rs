//! Differences that cannot be seen, in the views of a whole change.

use super::{
    super::chat::{Chat, virtual_lines},
    waiting, write,
};

const INLINE: &str = "tools = { auto_approve = {}, review = { view = 'inline' } }";

fn open_inline(chat: &mut Chat) {
    chat.nvim.input("gK");
    let at = "return vim.fn.expand('%:t') == 'a.txt' and vim.b.flemma_review ~= nil";
    chat.nvim.wait_for("the view", |nvim| nvim.lua(at, &[]) == true);
    let marks =
        "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('flemma.review'), 0, -1, {}) > 0";
    chat.nvim.wait_for("the hunks", |nvim| nvim.lua(marks, &[]) == true);
}

/// What is drawn over the file, without the blanks up to the edge.
fn drawn(chat: &mut Chat) -> Vec<String> {
    virtual_lines(&mut chat.nvim, "flemma.review")
        .into_iter()
        .map(|(_, text)| text.trim_end().trim_start_matches(['+', '-']).to_owned())
        .collect()
}

#[test]
fn lines_that_look_the_same_are_drawn_in_the_file() {
    let (old, new) = ("cafe\u{301}\nsame\nx = 1  \nsame\nlast\n", "caf\u{e9}\nsame\nx = 1\nsame\nlast");
    let mut chat = waiting(&[("a.txt", old)], "write", &write("a.txt", new), INLINE);
    open_inline(&mut chat);
    let expected = [
        "cafe<U+0301>",
        "caf<U+00E9>",
        " 1/3",
        "x = 1\u{b7}\u{b7}",
        "x = 1",
        " 2/3",
        "last\u{21b5}",
        "last",
        "\\ No newline at end of file",
        " 3/3",
    ];
    let mut found = drawn(&mut chat);
    found.sort_unstable();
    let mut expected: Vec<String> = expected.map(str::to_owned).to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn the_end_of_a_long_line_is_seen_in_the_file() {
    let start = "0123456789".repeat(40);
    let (old, new) = (format!("{start}old\n"), format!("{start}new\n"));
    for wrap in ["wrap", "nowrap"] {
        let mut chat = waiting(&[("a.txt", &old)], "write", &write("a.txt", &new), INLINE);
        chat.nvim.command(&format!("split a.txt | setlocal {wrap} | wincmd p"));
        open_inline(&mut chat);
        chat.nvim.wait_for_screen("789old");
        chat.nvim.wait_for_screen("789new");
    }
    // A line break of another kind.
    let (old, new) = ("a\r\nb\r\n", "a\nb\r\n");
    let mut chat = waiting(&[("a.txt", old)], "write", &write("a.txt", new), INLINE);
    open_inline(&mut chat);
    let all = drawn(&mut chat);
    assert!(all.contains(&"a\u{240d}".to_owned()) && all.contains(&"a".to_owned()), "{all:?}");
}

#[test]
fn a_note_says_that_all_line_endings_change() {
    let cases = [("a\nb\n", "a\r\nb\r\n", "only the line endings change in 2 lines: LF becomes CRLF")];
    let besides = ("a\r\nb\r\n", "a\nc\n", "the line endings change in all lines: CRLF becomes LF");
    for (old, new, words) in cases.into_iter().chain([besides]) {
        let mut chat = waiting(&[("a.txt", old)], "write", &write("a.txt", new), INLINE);
        open_inline(&mut chat);
        chat.nvim.wait_for("the note above the file", |nvim| nvim.row_with(words) == Some(0));
        assert!(!drawn(&mut chat).concat().contains("besides"));
        chat.nvim.input("gA");
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(super::content(&chat, "a.txt"), new);
    }
}
