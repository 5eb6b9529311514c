//! Completion in a real editor.

mod commands;
mod omnifunc;
mod sources;

use super::{
    chat::{Chat, Setup},
    support::Nvim,
};

/// Files of a project.
const FILES: [(&str, &str); 6] = [
    ("my file.txt", "text\n"),
    ("my notes.md", "notes\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("src/lib.rs", ""),
    ("made.o", ""),
    (".gitignore", "*.o\n"),
];

/// An editor with a conversation in a project, in Insert mode at the end of the text.
fn start(text: &str) -> Chat {
    let mut chat = Chat::start(&Setup { text: Some(text), files: &FILES, ..Setup::default() }, []);
    chat.wait_until_idle();
    chat.nvim.input("GA");
    chat.nvim.wait_for("Insert mode", |nvim| nvim.mode() == "i");
    chat
}

/// The words of the popup menu; none while it is closed.
fn menu(nvim: &mut Nvim) -> Vec<String> {
    let words = nvim.lua(
        "local words = {}
         if vim.fn.pumvisible() == 0 then return words end
         for _, item in ipairs(vim.fn.complete_info({ 'items' }).items) do words[#words + 1] = item.word end
         return words",
        &[],
    );
    words.as_array().into_iter().flatten().map(|word| word.as_str().unwrap_or_default().to_owned()).collect()
}

/// Waits until the popup menu has exactly these words.
fn wait_for_menu(nvim: &mut Nvim, words: &[&str]) {
    nvim.wait_for(&format!("a menu of {words:?}"), |nvim| menu(nvim) == words);
}

/// The line of the cursor.
fn line(nvim: &mut Nvim) -> String {
    nvim.lua("return vim.api.nvim_get_current_line()", &[]).as_str().unwrap_or_default().to_owned()
}

/// Waits until the line of the cursor is this one.
fn wait_for_line(nvim: &mut Nvim, text: &str) {
    nvim.wait_for(&format!("the line `{text}`"), |nvim| line(nvim) == text);
}
