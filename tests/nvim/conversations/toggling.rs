//! `:Flemma new` and `:Flemma toggle`.

use std::fs;

use serde_json::json;

use super::{
    super::{
        anthropic::Stream,
        chat::{Chat, Setup, said},
        http::{Gate, Reply},
        support::{Nvim, Options},
    },
    FILES, current, state_folder, windows,
};

fn start() -> Nvim {
    Nvim::start(&Options { files: &FILES, arguments: &["code/src/main.rs"], ..Options::default() })
}

/// The number of windows in this tab page.
fn wait_for_windows(nvim: &mut Nvim, count: usize) {
    nvim.wait_for(&format!("{count} windows"), |nvim| windows(nvim).len() == count);
}

#[test]
fn a_new_conversation_leaves_no_file_unless_it_is_written() {
    let mut nvim = start();
    nvim.input(":Flemma new  Fix the Parser<CR>");
    nvim.wait_for("the conversation", |nvim| current(nvim).ends_with("-fix-the-parser.chat"));
    assert_eq!((nvim.text().as_str(), nvim.cursor(), nvim.mode().as_str()), ("@You:\n\n", (2, 0), "n"));
    let folder = state_folder(&nvim, "code");
    nvim.input(":quit<CR>");
    wait_for_windows(&mut nvim, 1);
    let is_chat = |name: &str| name.ends_with(".chat");
    let files = || fs::read_dir(&folder).unwrap().flatten().map(|file| file.file_name().into_string().unwrap());
    assert_eq!(files().filter(|name| is_chat(name)).count(), 0);
    // The same words again are another conversation: this editor has the first one open.
    nvim.input(":Flemma new fix the parser<CR>");
    nvim.wait_for("the second", |nvim| current(nvim).ends_with("-fix-the-parser-2.chat"));
    nvim.input("iHello<Esc>:write<CR>");
    nvim.wait_for("the file", |_| files().any(|name| is_chat(&name)));
    nvim.input("<C-w>p:exe \"norm \\<lt>Plug>(flemma-new)\"<CR>");
    nvim.wait_for("the third", |nvim| current(nvim).ends_with(".chat") && nvim.text() == "@You:\n\n");
    assert_eq!(windows(&mut nvim).len(), 2);
    assert!(!nvim.messages().contains("Flemma"), "{}", nvim.messages());
}

#[test]
fn a_conversation_that_was_opened_by_its_name_is_the_projects() {
    let mut nvim = start();
    nvim.command("split code/notes.chat");
    nvim.wait_for("the conversation", |nvim| nvim.text() == "@You:\n\n");
    for _ in 0..2 {
        nvim.input(":Flemma toggle<CR>");
        nvim.wait_for("the hidden window", |nvim| windows(nvim) == ["main.rs"]);
        nvim.input(":Flemma toggle<CR>");
        nvim.wait_for("its window", |nvim| current(nvim) == "notes.chat" && windows(nvim).len() == 2);
    }
}

#[test]
fn hiding_a_window_loses_nothing_and_stops_nothing() {
    let gate = Gate::new();
    let stream = Stream::new().text(&["First ", "and last."]).end("end_turn");
    let held = stream.events().iter().fold(Reply::stream(), |reply, event| {
        let reply = reply.chunk(event.as_str());
        if event.contains("First ") { reply.hold(&gate) } else { reply }
    });
    let setup = Setup { files: &FILES, options: "editing = { auto_write = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [held]);
    let nvim = &mut chat.nvim;
    nvim.command("edit code/src/main.rs");
    nvim.command("set nohidden");
    nvim.input(":Flemma toggle<CR>iunsaved words<Esc>:Flemma toggle<CR>");
    nvim.wait_for("the hidden window", |nvim| windows(nvim) == ["main.rs"]);
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nunsaved words\n");
    assert_eq!(nvim.lua("return vim.bo.modified", &[]), true);
    // While it streams, in quick succession.
    nvim.input("<C-]>");
    nvim.wait_for("the first words", |nvim| nvim.text().contains("First"));
    nvim.input(":Flemma toggle<CR>:Flemma toggle<CR>:Flemma toggle<CR>");
    nvim.wait_for("the hidden window", |nvim| windows(nvim) == ["main.rs"]);
    gate.open();
    nvim.wait_for("the end of the reply", |nvim| {
        let text = nvim.lua(
            "local buf = vim.fn.bufnr(require('flemma.conversations').last())
             return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')",
            &[],
        );
        text.as_str().unwrap().contains("and last.\n\n@You:")
    });
    assert_eq!(nvim.text(), "fn main() {}\n");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the reply", |nvim| nvim.text().contains("First and last."));
    // From Insert mode: what is typed next does not end up in the code.
    nvim.command("imap <F5> <Plug>(flemma-toggle)");
    nvim.input("G$a more<F5>");
    nvim.wait_for("the hidden window", |nvim| windows(nvim) == ["main.rs"]);
    nvim.wait_for("Normal mode", |nvim| nvim.mode() == "n");
    assert_eq!(nvim.text(), "fn main() {}\n");
    assert!(!said(nvim).contains("E37"), "{}", said(nvim));
}

#[test]
fn the_last_window_and_other_tab_pages_have_their_own() {
    let mut nvim = start();
    nvim.input(":Flemma toggle<CR>iwords<Esc>:only<CR>");
    nvim.wait_for("one window", |nvim| windows(nvim).len() == 1 && current(nvim).ends_with(".chat"));
    let name = current(&mut nvim);
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the code", |nvim| windows(nvim) == ["main.rs"]);
    // Without an alternate file it is an empty buffer.
    nvim.input(":Flemma toggle<CR>:only<CR>");
    nvim.wait_for("one window", |nvim| windows(nvim) == [name.clone()]);
    nvim.command("bwipeout main.rs");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("an empty buffer", |nvim| windows(nvim) == [""]);
    nvim.command("edit code/src/main.rs");
    // Each tab page is by itself.
    nvim.input(":Flemma toggle<CR>");
    wait_for_windows(&mut nvim, 2);
    nvim.command("tabnew code/README.txt");
    nvim.input(":Flemma toggle<CR>");
    wait_for_windows(&mut nvim, 2);
    assert_eq!(nvim.text(), "@You:\nwords\n");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the hidden window", |nvim| windows(nvim) == ["README.txt"]);
    nvim.command("tabprevious");
    assert_eq!(windows(&mut nvim).len(), 2);
    // A tab page for it alone is found again from another one, and goes with it.
    nvim.command("tabonly | only | edit code/src/main.rs");
    nvim.input(":Flemma toggle tab<CR>");
    nvim.wait_for("the tab page", |nvim| nvim.lua("return vim.fn.tabpagenr('$')", &[]) == 2);
    nvim.command("tabfirst");
    nvim.input(":Flemma toggle tab<CR>");
    nvim.wait_for("the same tab page", |nvim| nvim.lua("return vim.fn.tabpagenr()", &[]) == 2);
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("one tab page", |nvim| nvim.lua("return vim.fn.tabpagenr('$')", &[]) == 1);
    assert_eq!(windows(&mut nvim), ["main.rs"]);
    let lines = nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false)", &[name.into()]);
    assert_eq!(lines, json!(["@You:", "words"]));
}

#[test]
fn a_conversation_held_elsewhere_is_shown_and_new_offered() {
    let mut first = Chat::start(&Setup { files: &FILES, ..Setup::default() }, []);
    first.nvim.command("edit code/src/main.rs");
    first.nvim.input(":Flemma new shared<CR>iwords<Esc>:write<CR>");
    let folder = state_folder(&first.nvim, "code");
    let note = folder.join(".last");
    first.nvim.wait_for("the note", |_| note.exists());
    let code = first.nvim.work().join("code/src/main.rs");
    let mut second = Chat::another(&first, &code, ("", ""), []);
    let nvim = &mut second.nvim;
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the offer", |nvim| said(nvim).contains("`:Flemma new` begins another one."));
    assert_eq!(nvim.text(), "@You:\nwords\n");
    assert_eq!(nvim.lua("return vim.bo.modifiable", &[]), false);
    // The other one has not written it yet, but its name is taken.
    first.nvim.input(":Flemma new twin<CR>");
    first.nvim.wait_for("the twin", |nvim| current(nvim).ends_with("-twin.chat"));
    let lock = folder.join(format!(".{}.flemma-lock", current(&mut first.nvim)));
    first.nvim.wait_for("its lock", |_| lock.exists());
    nvim.input(":Flemma new twin<CR>");
    nvim.wait_for("another one", |nvim| current(nvim).ends_with("-twin-2.chat"));
    nvim.input("imine<Esc>");
    nvim.wait_for("the words", |nvim| nvim.text() == "@You:\nmine\n");
}

#[test]
fn swap_files_of_other_editors_ask_nothing() {
    // Both with swap files, as users have them.
    let mut first = Chat::start(&Setup { files: &FILES, ..Setup::default() }, []);
    first.nvim.command("edit code/src/main.rs");
    first.nvim.input(":Flemma new shared<CR>iwords<Esc>:write<CR>");
    let note = state_folder(&first.nvim, "code").join(".last");
    first.nvim.wait_for("the note", |_| note.exists());
    let name = current(&mut first.nvim);
    first.nvim.command("preserve");
    let code = first.nvim.work().join("code/README.txt");
    let mut second = Chat::another(&first, &code, ("", ""), []);
    let nvim = &mut second.nvim;
    nvim.command("set updatecount=200");
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the offer", |nvim| said(nvim).contains("`:Flemma new` begins another one."));
    assert_eq!(nvim.text(), "@You:\nwords\n");
    assert_eq!(nvim.lua("return { vim.bo.modifiable, vim.wo.breakindent }", &[]), json!([false, true]));
    nvim.input(":bwipeout<CR>");
    nvim.wait_for("the text", |nvim| windows(nvim) == ["README.txt"]);
    // Once that one was killed, its changes may be worth something.
    first.nvim.input("omore<Esc>");
    first.nvim.wait_for("the change", |nvim| nvim.text().contains("more"));
    first.nvim.command("preserve");
    first.nvim.kill();
    nvim.input(":Flemma toggle<CR>");
    nvim.wait_for("the advice", |nvim| {
        let said = said(nvim);
        said.contains(&format!(
            "{name} could not be shown: a Neovim that is no longer running has left a swap file of it"
        )) && said.contains("lets you recover it")
    });
    assert_eq!(windows(nvim), ["README.txt"]);
    assert!(!said(nvim).contains("E325"), "{}", said(nvim));
    nvim.input(":Flemma new other<CR>");
    nvim.wait_for("another one", |nvim| current(nvim).ends_with("-other.chat"));
}
