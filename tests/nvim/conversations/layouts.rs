//! The windows in which conversations are shown.

use serde_json::{Value, json};

use super::{
    super::{
        chat::said,
        support::{Nvim, Options},
    },
    FILES, windows,
};

fn start(options: &str, screen: (u32, u32)) -> Nvim {
    let init = format!("require('flemma').setup({{ conversations = {{ {options} }} }})");
    Nvim::start(&Options {
        files: &FILES,
        arguments: &["code/src/main.rs"],
        init: &init,
        screen: Some(screen),
        ..Options::default()
    })
}

/// The current window: its width and height, where it is, and whether it floats.
fn window(nvim: &mut Nvim) -> Value {
    nvim.lua(
        "local win = vim.api.nvim_get_current_win()
         return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win), vim.api.nvim_win_get_position(win),
           vim.api.nvim_win_get_config(win).relative ~= '' }",
        &[],
    )
}

#[test]
fn each_layout_puts_the_window_where_it_says() {
    let mut nvim = start("", (100, 40));
    nvim.input(":Flemma toggle<CR>iunsaved<Esc>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nunsaved\n");
    assert_eq!(window(&mut nvim), json!([40, 38, [0, 60], false]));
    // Each changes into the next one.
    for (layout, expected) in [
        ("horizontal", json!([100, 15, [23, 0], false])),
        ("vertical", json!([40, 38, [0, 60], false])),
        ("tab", json!([100, 37, [1, 0], false])),
    ] {
        nvim.input(&format!(":Flemma toggle {layout}<CR>"));
        nvim.wait_for(layout, |nvim| window(nvim) == expected);
        assert_eq!(nvim.text(), "@You:\nunsaved\n");
    }
    nvim.input(":Flemma toggle vertikal<CR>");
    nvim.wait_for("the words that may follow", |nvim| {
        said(nvim).contains("`:Flemma toggle` takes only `vertical` or `horizontal` or `tab`, but was given `vertikal`")
    });
}

#[test]
fn a_narrow_screen_has_it_below_the_code() {
    let mut nvim = start("", (30, 20));
    nvim.input(":Flemma toggle<CR>iwords<Esc>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nwords\n");
    let now = window(&mut nvim);
    assert_eq!((&now[0], &now[1]), (&json!(30), &json!(7)), "{now}");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    // Where there is no room for a second window, Neovim says so.
    nvim.request("nvim_ui_try_resize", &[30.into(), 3.into()]);
    nvim.wait_for("a low screen", |nvim| nvim.lua("return vim.o.lines", &[]) == 3);
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the refusal", |nvim| said(nvim).contains("could not be shown: E36"));
    assert_eq!(windows(&mut nvim), ["main.rs"]);
}
