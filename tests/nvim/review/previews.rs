//! The first lines of a change, below the preview of its call.

use serde_json::{Value, json};

use super::{
    super::chat::{Chat, previews},
    edit, lines, waiting, write,
};

/// The highlight groups of the lines below the call.
fn groups(chat: &mut Chat) -> Value {
    chat.nvim.lua(
        "local namespace = vim.api.nvim_create_namespace('flemma.previews')
         local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
         return vim.tbl_map(function(line) return line[1][2] end, marks[1][4].virt_lines)",
        &[],
    )
}

fn texts(chat: &mut Chat) -> Vec<String> {
    previews(&mut chat.nvim).into_iter().map(|(_, text)| text).collect()
}

/// Nobody presses a key.
#[test]
fn a_preview_follows_the_file() {
    let mut chat = waiting(&[("a.txt", &lines())], "edit", &edit("a.txt", "line 5", "LINE 5"), "");
    chat.nvim.wait_for_screen("+LINE 5");
    std::fs::write(chat.nvim.work().join("a.txt"), lines().replace("line 4", "their 4")).unwrap();
    chat.nvim.wait_for_screen("their 4");
    // The tool says what is in the way.
    std::fs::remove_file(chat.nvim.work().join("a.txt")).unwrap();
    chat.nvim.wait_for("no diff", |nvim| nvim.row_with("+LINE 5").is_none());
    std::fs::write(chat.nvim.work().join("a.txt"), lines()).unwrap();
    chat.nvim.wait_for_screen("+LINE 5");
    // Changes that are not saved are named, until they are given up.
    chat.nvim.input(":split a.txt<CR>ggOmine<Esc><C-w>w:doautocmd FocusGained<CR>");
    chat.nvim.wait_for_screen("save a.txt to go on");
    chat.nvim.input(":bd! a.txt<CR>");
    chat.nvim.wait_for("the plain diff", |nvim| {
        nvim.row_with("+LINE 5").is_some() && nvim.row_with("save a.txt to go on").is_none()
    });
}

#[test]
fn the_first_lines_of_a_change_are_below_its_call() {
    let new = lines().replace("line 5\n", "LINE 5\n").replace("line 18\n", &format!("{}\n", "wide ".repeat(40)));
    let options = "tools = { auto_approve = {}, review = { lines = 9 } }";
    let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", &new), options);
    chat.nvim.wait_for_screen("+LINE 5");
    let shown = texts(&mut chat);
    assert!(shown[0].starts_with("@@ -2,7"), "the card says which file it is: {shown:?}");
    assert!(shown.len() <= 11, "{shown:?}");
    let expected =
        |nvim: &mut super::Nvim, name: &str| nvim.lua("return vim.api.nvim_get_hl(0, { name = ... })", &[json!(name)]);
    let found = groups(&mut chat);
    for name in ["FlemmaDiffHunk", "FlemmaDiffContext", "FlemmaDiffDelete", "FlemmaDiffAdd", "FlemmaDiffNote"] {
        assert!(found.as_array().unwrap().contains(&json!(name)), "{name} in {found}");
    }
    for scheme in ["habamax", "default"] {
        chat.nvim.command(&format!("colorscheme {scheme}"));
        assert_eq!(expected(&mut chat.nvim, "FlemmaDiffAdd")["link"], "Added", "{scheme}");
        assert_eq!(expected(&mut chat.nvim, "FlemmaDiffDelete")["link"], "Removed", "{scheme}");
    }
    // They fit into the narrowest window, and follow its width.
    for width in [20, 7] {
        chat.nvim.command(&format!("vsplit | vertical resize {width}"));
        chat.nvim.wait_for("the width", |nvim| previews(nvim).iter().all(|(_, text)| text.chars().count() <= width));
        chat.nvim.command("only");
    }
    chat.nvim.wait_for("the whole width", |nvim| previews(nvim)[0].1.contains("@@ -2,7 +2,7 @@"));
    // They belong to the screen: the text does not have them.
    assert!(!chat.nvim.text().contains("+LINE 5"));
}

#[test]
fn no_lines_of_a_change_are_shown_where_they_are_off() {
    let options = "tools = { auto_approve = {}, review = { lines = 0 } }";
    let mut chat = waiting(&[("a.txt", &lines())], "write", &write("a.txt", "one\n"), options);
    chat.nvim.wait_for_screen("? write a.txt");
    assert_eq!(texts(&mut chat), Vec::<String>::new());
}
