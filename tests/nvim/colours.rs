//! The colours of Markdown, of code, and of markers and headers.

use serde_json::Value;

use super::{
    chat::{Chat, Setup},
    support::{Nvim, Options},
};

/// Waits until the screen is coloured. Languages are loaded after the first screen was drawn.
fn wait_for_colours(nvim: &mut Nvim) {
    nvim.wait_for("the highlighter", |nvim| nvim.lua("return vim.b.ts_highlight", &[]) == true);
    // The first `nvim__inspect_cell` makes Neovim renumber all attributes. Cells are right after the next redraw.
    nvim.lua("vim.api.nvim__inspect_cell(1, 0, 0)", &[]);
    nvim.command("redraw!");
}

/// The attributes of the cell that shows the first character of `text`.
fn attributes(nvim: &mut Nvim, text: &str) -> Value {
    nvim.wait_for_screen(text);
    let found = nvim.screen().iter().enumerate().find_map(|(row, line)| Some((row, line.find(text)?)));
    let Some((row, column)) = found else { nvim.fail(&format!("`{text}` went away")) };
    nvim.lua("return vim.api.nvim__inspect_cell(1, ...)[2] or {}", &[row.into(), column.into()])
}

fn assert_parsers(nvim: &mut Nvim) {
    assert_eq!(
        nvim.lua("return require('flemma.view.markdown').available()", &[]),
        true,
        "Neovim has parsers of its own"
    );
}

const TEXT: &str = "\
@You:
Some **strong** words

```lua
local answer = 42
```

**Tool Result:** `none`

@Assistant:
```lua
-- this fence is open

@You:
More **again** and plain
";

#[test]
fn markdown_has_its_colours() {
    let mut chat = Chat::start(&Setup { text: Some(TEXT), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    assert_eq!(attributes(&mut chat.nvim, "strong")["bold"], true);
    assert_eq!(attributes(&mut chat.nvim, "words")["bold"], Value::Null);
}

#[test]
fn code_has_the_colours_of_its_language() {
    let mut chat = Chat::start(&Setup { text: Some(TEXT), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    assert_parsers(&mut chat.nvim);
    let keyword = attributes(&mut chat.nvim, "local answer");
    let name = attributes(&mut chat.nvim, "answer");
    assert_ne!(keyword, name, "a keyword looks like a name");
    let closing = chat.nvim.row_with("local answer").map(|row| row + 1).unwrap();
    let cell = "return vim.api.nvim__inspect_cell(1, ...)[2] or {}";
    let fences = [closing - 2, closing].map(|row| chat.nvim.lua(cell, &[row.into(), 0.into()]));
    assert_eq!(fences[0], fences[1], "both fences look the same");
}

#[test]
fn an_open_fence_does_not_colour_the_next_message() {
    let mut chat = Chat::start(&Setup { text: Some(TEXT), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    assert_parsers(&mut chat.nvim);
    assert_eq!(attributes(&mut chat.nvim, "again")["bold"], true);
    assert_eq!(attributes(&mut chat.nvim, "plain")["bold"], Value::Null);
}

#[test]
fn colours_follow_what_is_typed_and_what_is_scrolled_to() {
    let lines = "Some plain words.\n\n".repeat(500);
    let text = format!("@You:\n{lines}The **last** one\n");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    chat.nvim.input("G");
    assert_eq!(attributes(&mut chat.nvim, "last")["bold"], true);
    chat.nvim.input("A and slanted<Esc>");
    assert_eq!(attributes(&mut chat.nvim, "slanted")["italic"], Value::Null);
    chat.nvim.input("bi*<Esc>A*<Esc>");
    chat.nvim.wait_for("the emphasis", |nvim| attributes(nvim, "slanted")["italic"] == true);
}

#[test]
fn colours_are_there_after_a_command_that_changed_many_lines() {
    let text = format!("@You:\nSome **strong** words\n{}", "plain words\n".repeat(100));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    for command in ["silent %s/words/things/", "silent undo"] {
        chat.nvim.command(command);
        chat.nvim.command("normal! gg");
        chat.nvim.wait_for(command, |nvim| {
            nvim.command("redraw");
            attributes(nvim, "strong")["bold"] == true
        });
    }
}

#[test]
fn a_change_recolours_the_other_lines_of_its_paragraph() {
    let text = "@You:\nabove *begin\nend and more\n\nbelow it **bold** stands\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    assert_eq!(attributes(&mut chat.nvim, "bold")["bold"], true);
    assert_parsers(&mut chat.nvim);
    assert_eq!(attributes(&mut chat.nvim, "begin")["italic"], Value::Null);
    chat.nvim.input("3Gea*<Esc>");
    chat.nvim.wait_for("emphasis over two lines", |nvim| attributes(nvim, "begin")["italic"] == true);
    chat.nvim.input("o```<Esc>");
    chat.nvim.wait_for("code below the fence", |nvim| attributes(nvim, "bold")["bold"].is_null());
    chat.nvim.input("u");
    chat.nvim.wait_for("prose again", |nvim| attributes(nvim, "bold")["bold"] == true);
}

#[test]
fn a_long_file_that_is_opened_at_its_end_has_its_colours() {
    let text = format!("{}@You:\nThe **last** one\n", "@You:\nSome words.\n\n@Assistant:\nMore.\n\n".repeat(20_000));
    let init = "vim.api.nvim_create_autocmd('BufReadPost', { command = 'normal! G' })";
    let mut nvim = Nvim::start(&Options { files: &[("notes.chat", &text)], init, ..Options::default() });
    nvim.command("edit notes.chat");
    nvim.wait_for_screen("last");
    nvim.wait_for("the colours", |nvim| attributes(nvim, "last")["bold"] == true);
}

#[test]
fn role_markers_and_headers_of_tools_keep_their_own_colours() {
    let mut chat = Chat::start(&Setup { text: Some(TEXT), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    let marker = attributes(&mut chat.nvim, "You");
    let prose = attributes(&mut chat.nvim, "Some");
    assert_ne!(marker, prose, "a role marker looks like prose");
    let result = attributes(&mut chat.nvim, "< result");
    assert_ne!(result, prose, "a tool's header looks like prose");
}

#[test]
fn a_line_of_a_megabyte_is_drawn_without_colours() {
    let text = format!("@You:\nSome **strong** words\n\n{}\n\nand **more**\n", "**x** ".repeat(200_000));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim);
    assert_eq!(attributes(&mut chat.nvim, "strong")["bold"], true);
    chat.nvim.input("Gzb");
    assert_eq!(chat.nvim.mode(), "n");
    chat.nvim.wait_for("no complaint", |nvim| !nvim.messages().contains("coloured"));
}

#[test]
fn a_broken_query_leaves_other_languages_their_colours() {
    let text = "@You:\nSome **strong** words\n\n```lua\nlocal answer = 42\n```\n";
    let lua = "local get = vim.treesitter.query.get
        vim.treesitter.query.get = function(lang, kind)
          assert(lang ~= 'lua', 'Query error at 74:3. Invalid field name')
          return get(lang, kind)
        end";
    let mut chat = Chat::start(&Setup { text: Some(text), lua, ..Setup::default() }, []);
    assert_parsers(&mut chat.nvim);
    wait_for_colours(&mut chat.nvim);
    assert_eq!(attributes(&mut chat.nvim, "strong")["bold"], true);
    let messages = chat.nvim.messages();
    assert!(!messages.contains("colour"), "{messages}");
}

/// Counts the cells that show one of some characters, and those of them that are bold.
const BOLD: &str = "
    local wanted, shown, bold = ..., 0, 0
    vim.cmd.redraw()
    for row = 0, vim.api.nvim_win_get_height(0) - 1 do
      for column = 0, vim.o.columns - 1 do
        local cell = vim.api.nvim__inspect_cell(1, row, column)
        if cell[1] and cell[1] ~= '' and wanted:find(cell[1], 1, true) then
          shown = shown + 1
          bold = bold + ((cell[2] or {}).bold and 1 or 0)
        end
      end
    end
    return { shown, bold }";

#[test]
fn all_that_is_visible_of_a_long_line_is_coloured() {
    for (piece, strong, plain, count) in
        [("**ab** cd ", "ab", "cd", 1_200), ("**\u{e4}\u{6f22}** c\u{e9} ", "\u{e4}\u{6f22}", "c\u{e9}", 1_100)]
    {
        let line = piece.repeat(count);
        let text = format!("@You:\n1\n\n{line}\n\n2\n");
        let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
        assert_parsers(&mut chat.nvim);
        wait_for_colours(&mut chat.nvim);
        // Where the cursor is, and keys that bring the line into view.
        let middle = format!("4G0{}l", line.chars().count() / 2);
        for keys in ["gg", "4G0", &middle, "4G$", "Gzb"] {
            if keys == "Gzb" {
                // It shows the end of a line that does not fit. With the options that are turned off here, it takes
                // Neovim a minute to do so.
                chat.nvim.command("setlocal smoothscroll nolinebreak nobreakindent");
            }
            chat.nvim.input(keys);
            assert_eq!(chat.nvim.mode(), "n");
            let found = chat.nvim.lua(BOLD, &[strong.into()]);
            let (shown, bold) = (found[0].as_u64().unwrap(), found[1].as_u64().unwrap());
            assert!(shown > 500, "{piece}, {keys}: {shown} cells are on the screen");
            assert_eq!(bold, shown, "{piece}, {keys}: bold cells");
            assert_eq!(chat.nvim.lua(BOLD, &[plain.into()])[1], 0, "{piece}, {keys}: bold cells of plain text");
        }
    }
}
