//! The conversations of a project, from its code.

mod asking;
mod elsewhere;
mod finding;
mod layouts;
mod listing;
mod showing;
mod toggling;

use serde_json::{Value, json};

use super::support::Nvim;

/// Files of a project, and one that is in none.
const FILES: [(&str, &str); 4] = [
    ("code/.git/HEAD", "ref: refs/heads/main\n"),
    ("code/src/main.rs", "fn main() {}\n"),
    ("code/README.txt", "# Code\n"),
    ("other/.jj/here", ""),
];

/// The folder of a project's conversations in the state directory.
fn state_folder(nvim: &Nvim, project: &str) -> std::path::PathBuf {
    let root = nvim.work().join(project);
    let state = nvim.folder("state").canonicalize().unwrap();
    state.join("nvim/flemma/conversations").join(root.strip_prefix("/").unwrap())
}

/// Shows a conversation, as other Lua code does. The answer is its path, its window, and the current window.
fn show(nvim: &mut Nvim, options: &Value) -> Value {
    nvim.lua(
        "local buf, win = require('flemma.conversations').show(...)
         return { buf and vim.api.nvim_buf_get_name(buf) or vim.NIL, win, vim.api.nvim_get_current_win() }",
        std::slice::from_ref(options),
    )
}

/// The names of the buffers in the windows of this tab page, without their folders. A message is none of them.
fn windows(nvim: &mut Nvim) -> Vec<String> {
    let names = nvim.lua(
        "return vim.tbl_map(function(win)
           return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
         end, vim.tbl_filter(function(win)
           return vim.api.nvim_win_get_config(win).focusable
         end, vim.api.nvim_tabpage_list_wins(0)))",
        &[],
    );
    serde_json::from_value(names).unwrap_or_default()
}

/// No options.
fn none() -> Value {
    json!({ "enter": true })
}

/// Writes a conversation of a project; `age` is how many seconds ago.
fn put(folder: &std::path::Path, name: &str, text: &str, age: u64) {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
}

/// The name of the current buffer's file.
fn current(nvim: &mut Nvim) -> String {
    nvim.lua("return vim.fs.basename(vim.api.nvim_buf_get_name(0))", &[]).as_str().unwrap_or_default().to_owned()
}
