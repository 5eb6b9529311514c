//! The windows in which conversations are shown.

use serde_json::{Value, json};

use super::{
    super::{
        chat::said,
        support::{Nvim, Options},
    },
    FILES, current, windows,
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
        ("float", json!([80, 31, [3, 9], true])),
        ("vertical", json!([40, 38, [0, 60], false])),
        ("tab", json!([100, 37, [1, 0], false])),
    ] {
        nvim.input(&format!(":Flemma toggle {layout}<CR>"));
        nvim.wait_for(layout, |nvim| window(nvim) == expected);
        assert_eq!(nvim.text(), "@You:\nunsaved\n");
    }
    nvim.input(":Flemma toggle flaot<CR>");
    nvim.wait_for("the words that may follow", |nvim| {
        said(nvim).contains("`:Flemma toggle` takes vertical or horizontal or tab or float, but was given `flaot`")
    });
}

#[test]
fn a_float_follows_the_screen_and_closes_like_a_window() {
    let mut nvim = start("layout = 'float', width = 60, height = 0.5", (100, 40));
    nvim.input(":Flemma toggle<CR>iunsaved<Esc>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nunsaved\n");
    nvim.wait_for("the float", |nvim| window(nvim) == json!([60, 19, [9, 19], true]));
    nvim.request("nvim_ui_try_resize", &[30.into(), 12.into()]);
    nvim.wait_for("a smaller float", |nvim| {
        let (now, float) = (window(nvim), nvim.lua("return { vim.o.columns, vim.o.lines }", &[]));
        float == json!([30, 12]) && now[0] == 28 && now[1] == 5
    });
    nvim.request("nvim_ui_try_resize", &[100.into(), 40.into()]);
    nvim.wait_for("the float as it was", |nvim| window(nvim) == json!([60, 19, [9, 19], true]));
    let name = current(&mut nvim);
    nvim.command("set nohidden");
    nvim.input(":quit<CR>");
    nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    assert_eq!(nvim.messages(), "");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nunsaved\n");
    assert_eq!(current(&mut nvim), name);
    // A screen of the smallest size is no error.
    nvim.request("nvim_ui_try_resize", &[12.into(), 3.into()]);
    nvim.wait_for("a tiny screen", |nvim| nvim.lua("return vim.o.columns", &[]) == 12);
    nvim.input(":Flemma toggle<CR>:Flemma toggle<CR>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nunsaved\n");
}

#[test]
fn a_narrow_screen_has_it_below_and_a_low_one_over_the_code() {
    let mut nvim = start("", (30, 20));
    nvim.input(":Flemma toggle<CR>iwords<Esc>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nwords\n");
    let now = window(&mut nvim);
    assert_eq!((&now[0], &now[1]), (&json!(30), &json!(7)), "{now}");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    nvim.request("nvim_ui_try_resize", &[30.into(), 4.into()]);
    nvim.wait_for("a low screen", |nvim| nvim.lua("return vim.o.lines", &[]) == 4);
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nwords\n");
    assert_eq!(window(&mut nvim)[3], true);
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    assert_eq!(nvim.lua("return vim.fn.tabpagenr('$')", &[]), 1);
    assert!(!said(&mut nvim).contains("could not"), "{}", said(&mut nvim));
}

/// Gives the screen another size.
fn resize(nvim: &mut Nvim, columns: u32, lines: u32) {
    nvim.request("nvim_ui_try_resize", &[columns.into(), lines.into()]);
    nvim.wait_for("the size", |nvim| nvim.lua("return { vim.o.columns, vim.o.lines }", &[]) == json!([columns, lines]));
}

#[test]
fn a_window_keeps_its_part_of_the_screen() {
    for (layout, at) in [("vertical", 0), ("horizontal", 1)] {
        let mut nvim = start(&format!("layout = '{layout}'"), (100, 41));
        nvim.input(":Flemma toggle<CR>iwords<Esc>");
        nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nwords\n");
        let size = |nvim: &mut Nvim| window(nvim)[at].as_u64().unwrap();
        let first = size(&mut nvim);
        for ((columns, lines), expected) in [((50, 21), [20, 8]), ((12, 6), [5, 2]), ((200, 81), [80, 32])] {
            resize(&mut nvim, columns, lines);
            nvim.wait_for("its part", |nvim| size(nvim).abs_diff(expected[at]) <= 1);
        }
        resize(&mut nvim, 100, 41);
        nvim.wait_for("its size", |nvim| size(nvim) == first);
        // What the user makes of it counts, also in a tab page that they have left.
        nvim.input("<C-w>=");
        nvim.wait_for("equal windows", |nvim| size(nvim) != first);
        let equal = size(&mut nvim);
        nvim.command("tabnew");
        resize(&mut nvim, 50, 21);
        nvim.command("tabprevious");
        nvim.wait_for("half of it", |nvim| size(nvim).abs_diff(equal / 2) <= 1);
        resize(&mut nvim, 100, 41);
        nvim.wait_for("equal windows", |nvim| size(nvim).abs_diff(equal) <= 1);
        nvim.command("tabonly");
        // It may be the only window as well.
        nvim.command("only");
        resize(&mut nvim, 60, 21);
        resize(&mut nvim, 100, 41);
        nvim.wait_for("all of the screen", |nvim| window(nvim)[0] == 100);
        assert!(!said(&mut nvim).contains("E5"), "{}", said(&mut nvim));
    }
}
