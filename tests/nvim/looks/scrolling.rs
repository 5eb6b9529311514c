//! Scrolling past cards: the cursor that Neovim takes along opens none, so that no text moves on its own.

use serde_json::json;

use super::{super::support::Nvim, TEXT, open, rows};

const HEIGHT: usize = 20;
const STEPS: usize = 70;

/// A conversation whose cards are not folded, in a small window.
fn start(init: &str) -> Nvim {
    let filler = (1..=40).map(|number| format!("line {number}\n")).collect::<String>();
    let failed = "```\nexit code 1\n```";
    let text = TEXT
        .replace("```flemma:tool status=pending\n```", failed)
        .replace("toolu_3`\n\n```\n", "toolu_3` (error)\n\n```\n");
    let text = format!("@You:\n{filler}\n{text}\n@Assistant:\n{filler}");
    let mut nvim = open(&text, init, 80);
    nvim.request("nvim_ui_try_resize", &[json!(80), json!(HEIGHT)]);
    nvim
}

/// Scrolls by one line again and again. Apart from the rows of the cursor, all rows move by at most one.
fn scroll(nvim: &mut Nvim, key: &str, by: isize) {
    let row = |nvim: &mut Nvim| nvim.lua("return vim.fn.winline() - 1", &[]).as_u64().unwrap() as usize;
    let mut cards = 0;
    let mut before = (rows(nvim), row(nvim));
    for step in 0..STEPS {
        nvim.input(key);
        let after = (rows(nvim), row(nvim));
        let moved = |by: isize| {
            (0..after.0.len()).all(|at| {
                let Some(from) = at.checked_add_signed(by).filter(|from| *from < before.0.len()) else { return true };
                after.0[at] == before.0[from] || at == after.1 || from == before.1
            })
        };
        assert!(moved(0) || moved(by), "{key}, step {step}: {:#?}\nbecame {:#?}", before, after);
        cards = cards.max(after.0.iter().filter(|row| row.starts_with(" > ") || row.starts_with(" < ")).count());
        before = after;
    }
    assert!(cards > 2, "cards were in the window: {cards}");
}

#[test]
fn scrolling_opens_no_card_at_the_edge_of_the_window() {
    for init in ["", "vim.o.scrolloff = 4"] {
        let mut nvim = start(init);
        nvim.input("30Gzt");
        scroll(&mut nvim, "<C-e>", 1);
        let line = nvim.cursor().0;
        nvim.input("zb");
        scroll(&mut nvim, "<C-y>", -1);
        assert!(nvim.cursor().0 < line, "the window took the cursor along");
    }
}

#[test]
fn the_mouse_wheel_opens_no_card_at_the_edge_of_the_window() {
    let mut nvim = start("vim.o.mousescroll = 'ver:1'");
    nvim.input("30Gzt");
    scroll(&mut nvim, "<ScrollWheelDown>", 1);
    nvim.input("zb");
    scroll(&mut nvim, "<ScrollWheelUp>", -1);
}

#[test]
fn a_card_opens_where_the_cursor_goes_after_scrolling() {
    let mut nvim = start("");
    nvim.input("30Gzt");
    // The header of the first call is in the first row.
    let is_first = "return vim.fn.getline('w0'):find('toolu_1') ~= nil";
    while nvim.lua(is_first, &[]) != true {
        nvim.input("<C-e>");
    }
    nvim.input("<C-e>");
    let line = nvim.cursor().0;
    assert!(nvim.row_with("\"label\"").is_none(), "nothing is shown");
    nvim.input("kkk");
    nvim.wait_for("the card", |nvim| nvim.row_with("\"label\"").is_some());
    assert!(nvim.cursor().0 < line);
}
