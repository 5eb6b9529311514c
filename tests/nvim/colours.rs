//! What the screen looks like: the colours of Markdown, of code and of ours.

use serde_json::Value;

use super::{
    chat::{Chat, Setup},
    support::{Nvim, Options},
};

/// Waits until what is on the screen has its colours: a language is read after the first screen was drawn.
fn wait_for_colours(nvim: &mut Nvim, language: &str) {
    let known = format!("return require('flemma.markdown.grammars').of('{language}') ~= nil");
    nvim.wait_for("the language", |nvim| nvim.lua(&known, &[]) == true);
    nvim.command("redraw!");
}

/// The attributes of the cell that shows the first character of `text`.
fn attributes(nvim: &mut Nvim, text: &str) -> Value {
    nvim.wait_for_screen(text);
    let found = nvim.screen().iter().enumerate().find_map(|(row, line)| Some((row, line.find(text)?)));
    let Some((row, column)) = found else { nvim.fail(&format!("`{text}` went away")) };
    nvim.lua("return vim.api.nvim__inspect_cell(1, ...)[2] or {}", &[row.into(), column.into()])
}

fn has_parsers(nvim: &mut Nvim) -> bool {
    nvim.lua("return require('flemma.markdown').available()", &[]) == true
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
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    assert_eq!(attributes(&mut chat.nvim, "strong")["bold"], true);
    assert_eq!(attributes(&mut chat.nvim, "words")["bold"], Value::Null);
}

#[test]
fn code_has_the_colours_of_its_language() {
    let mut chat = Chat::start(&Setup { text: Some(TEXT), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim, "lua");
    if !has_parsers(&mut chat.nvim) {
        return;
    }
    let keyword = attributes(&mut chat.nvim, "local answer");
    let name = attributes(&mut chat.nvim, "answer");
    assert_ne!(keyword, name, "a keyword looks like a name");
    let closing = chat.nvim.row_with("local answer").map(|row| row + 1).unwrap();
    let cell = "return vim.api.nvim__inspect_cell(1, ...)[2] or {}";
    let fences = [closing - 2, closing].map(|row| chat.nvim.lua(cell, &[row.into(), 0.into()]));
    assert_eq!(fences[0], fences[1], "both fences look the same");
}

#[test]
fn a_fence_that_nobody_closed_colours_nothing_of_the_next_message() {
    let mut chat = Chat::start(&Setup { text: Some(TEXT), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    if !has_parsers(&mut chat.nvim) {
        return;
    }
    assert_eq!(attributes(&mut chat.nvim, "again")["bold"], true);
    assert_eq!(attributes(&mut chat.nvim, "plain")["bold"], Value::Null);
}

#[test]
fn colours_follow_what_is_typed_and_what_is_scrolled_to() {
    let lines = "Some plain words.\n\n".repeat(500);
    let text = format!("@You:\n{lines}The **last** one\n");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    chat.nvim.input("G");
    assert_eq!(attributes(&mut chat.nvim, "last")["bold"], true);
    chat.nvim.input("A and slanted<Esc>");
    assert_eq!(attributes(&mut chat.nvim, "slanted")["italic"], Value::Null);
    chat.nvim.input("bi*<Esc>A*<Esc>");
    chat.nvim.wait_for("the emphasis", |nvim| attributes(nvim, "slanted")["italic"] == true);
}

#[test]
fn a_line_takes_the_colours_that_a_change_of_another_line_gives_it() {
    let text = "@You:\nabove *begin\nend and more\n\nbelow it **bold** stands\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    assert_eq!(attributes(&mut chat.nvim, "bold")["bold"], true);
    if !has_parsers(&mut chat.nvim) {
        return;
    }
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
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    let marker = attributes(&mut chat.nvim, "@You:");
    let prose = attributes(&mut chat.nvim, "Some");
    assert_ne!(marker, prose, "a role marker looks like prose");
    let result = attributes(&mut chat.nvim, "**Tool Result:**");
    assert_ne!(result, prose, "a tool's header looks like prose");
}

#[test]
fn a_line_of_a_megabyte_is_drawn_without_colours() {
    let text = format!("@You:\nSome **strong** words\n\n{}\n\nand **more**\n", "**x** ".repeat(200_000));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    assert_eq!(attributes(&mut chat.nvim, "strong")["bold"], true);
    chat.nvim.input("Gzb");
    assert_eq!(chat.nvim.mode(), "n");
    chat.nvim.wait_for("no complaint", |nvim| !nvim.messages().contains("coloured"));
}

#[test]
fn a_language_whose_query_does_not_fit_its_parser_leaves_the_others_their_colours() {
    let text = "@You:\nSome **strong** words\n\n```lua\nlocal answer = 42\n```\n";
    let lua = "local get = vim.treesitter.query.get
        vim.treesitter.query.get = function(lang, kind)
          assert(lang ~= 'lua', 'Query error at 74:3. Invalid field name')
          return get(lang, kind)
        end";
    let mut chat = Chat::start(&Setup { text: Some(text), lua, ..Setup::default() }, []);
    if !has_parsers(&mut chat.nvim) {
        return;
    }
    wait_for_colours(&mut chat.nvim, "lua");
    wait_for_colours(&mut chat.nvim, "markdown_inline");
    assert_eq!(attributes(&mut chat.nvim, "strong")["bold"], true);
    let messages = chat.nvim.messages();
    assert!(!messages.contains("colour"), "{messages}");
}
