//! How closed folds look.

use serde_json::json;

use super::{
    TURN,
    chat::{init, said},
    support::{Nvim, Options},
};

fn start(columns: u32, options: &str, lua: &str) -> Nvim {
    let init = format!("{}\n{lua}", init("http://127.0.0.1:9", options));
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", TURN)],
        arguments: &["notes.chat"],
        init: &init,
        environment: &[("ANTHROPIC_API_KEY", "sk-test")],
        screen: Some((columns, 40)),
    });
    nvim.wait_for_screen(" You");
    nvim.wait_for("the folds", |nvim| nvim.row_with("cargo").is_some());
    nvim
}

/// The rows of the screen that are closed folds.
fn folded(nvim: &Nvim) -> Vec<String> {
    nvim.screen().into_iter().filter(|row| row.starts_with(" ▸")).collect()
}

/// A row with something at its right edge, where one cell is free.
fn aligned(left: &str, right: &str, columns: usize) -> String {
    format!(" {left}{}{right}", " ".repeat(columns - 2 - left.chars().count() - right.chars().count()))
}

#[test]
fn a_fold_says_what_is_in_it_at_every_width() {
    let mut wide = start(80, "", "");
    let expected = |columns| {
        [
            ("▸ frontmatter  lua", "3 lines"),
            ("▸ thinking", "2 lines"),
            ("▸ read", ""),
            ("▸ bash", ""),
            ("▸ edit", ""),
            ("▸ read greet.py 4-6", if columns > 50 { "3 lines  ✓" } else { "✓" }),
            ("▸ bash cargo test", if columns > 50 { "1 line  ✓" } else { "✓" }),
        ]
        .map(|(left, right)| aligned(left, right, columns).trim_end().to_owned())
    };
    wide.wait_for("all folds", |nvim| folded(nvim) == expected(80));
    wide.input("zM");
    wide.wait_for_screen(&aligned("▸ Assistant  I read them.", "26 lines", 80));
    wide.wait_for_screen(&aligned("▸ edit greet.py +2 -1", "1 line  ✗ failed", 80));
    let widest = start(200, "", "");
    assert_eq!(folded(&widest), expected(200));
    let mut narrow = start(30, "", "");
    narrow.wait_for("all folds", |nvim| folded(nvim) == expected(30));
    narrow.input("zM");
    narrow.wait_for_screen(" ▸ You  Please look at both …");
    for row in narrow.screen() {
        assert!(row.chars().count() <= 30, "{row}");
    }
}

#[test]
fn ascii_is_all_that_a_terminal_needs() {
    let mut nvim = start(40, "editing = { symbols = 'ascii' }", "");
    nvim.wait_for_screen(&aligned("+ read greet.py 4-6", "ok", 40));
    nvim.input("zM");
    nvim.wait_for_screen("+ Assistant  I read them.");
    for row in nvim.screen() {
        assert!(row.is_ascii(), "{row}");
    }
}

#[test]
fn the_edit_that_failed_says_how_much_it_would_have_changed() {
    let mut nvim = start(80, "", "");
    nvim.lua("vim.fn.search('toolu_3` (error)')", &[]);
    nvim.input("zc");
    nvim.wait_for_screen(&aligned("▸ edit greet.py +2 -1", "1 line  ✗ failed", 80));
}

#[test]
fn folds_have_colours_of_their_own_in_every_scheme() {
    let cell = "local row, text = ...
        vim.cmd.redraw()
        local line = ''
        for column = 0, vim.o.columns - 1 do
          line = line .. (vim.fn.screenstring(row + 1, column + 1))
          if line:sub(-#text) == text then
            return vim.api.nvim__inspect_cell(1, row, column)[2] or {}
          end
        end";
    for scheme in ["default", "retrobox", "lunaperche", "zaibatsu", "habamax"] {
        for background in ["dark", "light"] {
            let lua =
                format!("vim.o.termguicolors = true vim.o.background = '{background}' vim.cmd.colorscheme('{scheme}')");
            let mut nvim = start(80, "", "");
            nvim.lua(&lua, &[]);
            let words = aligned("▸ bash cargo test", "1 line  ✓", 80);
            nvim.wait_for("the fold", |nvim| nvim.row_with(&words).is_some());
            let row = nvim.row_with(&words).unwrap();
            let good = nvim.lua(cell, &[json!(row), json!("✓")]);
            let words = nvim.lua(cell, &[json!(row), json!("cargo")]);
            assert!(good.is_object() && words.is_object(), "{good} {words}");
            assert_ne!(good, words, "{scheme}, {background}: the state looks like the words");
            assert_eq!(said(&mut nvim), "");
        }
    }
}
