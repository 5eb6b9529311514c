//! Rules of approval for commands and files, and where files are written without a question.

use serde_json::json;

use super::chat::{Chat, Setup, said};

/// The decisions about writing to paths. The editor's home is the folder above the working directory.
fn writing(chat: &mut Chat, paths: &[&str]) -> Vec<String> {
    let code = "return vim.tbl_map(function(path)
        local resolve = require('flemma.tools.approval').resolve
        local write, edit = resolve('write', { path = path }), resolve('edit', { path = path })
        return write == edit and write or 'write and edit differ'
      end, ...)";
    let found = chat.nvim.lua(code, &[json!(paths)]);
    found.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn files_are_written_unasked_only_where_the_project_is() {
    let files = [("repo/sub/inner.chat", "@You:\nHi\n"), ("repo/.git/config", ""), ("repo/src/a.rs", "")];
    let mut chat = Chat::start(&Setup { files: &files, ..Setup::default() }, []);
    let (yes, ask) = ("approve", "require_approval");
    let inside = ["a.rs", "./new/b.rs", "repo/src/a.rs", "~/work/a.rs"];
    let outside = [
        "~/.bashrc",
        "~/notes.md",
        "../.bashrc",
        "../state/x",
        "~/config/nvim/init.lua",
        "/etc/hosts",
        ".nvim.lua",
        ".git/hooks/pre-commit",
        "repo/.git/config",
        ".envrc",
    ];
    assert_eq!(writing(&mut chat, &inside), [yes; 4]);
    assert_eq!(writing(&mut chat, &outside), [ask; 10]);

    // A conversation in a repository may write everywhere in it; one without a file has Neovim's folder.
    chat.nvim.command("edit repo/sub/inner.chat");
    assert_eq!(writing(&mut chat, &["../src/a.rs", "x", "../.git/config", "../../a.rs"]), [yes, yes, ask, ask]);
    chat.nvim.command("enew | setfiletype chat");
    assert_eq!(writing(&mut chat, &["a.rs", "repo/src/a.rs", "~/.bashrc"]), [yes, yes, ask]);
    // Its tools start where their own option says, and so do the rules.
    chat.nvim.lua("require('flemma').setup({ tools = { write = { cwd = '..' }, edit = { cwd = '..' } } })", &[]);
    assert_eq!(writing(&mut chat, &["work/a.rs", "a.rs", ".bashrc"]), [yes, ask, ask]);
    chat.nvim.command("cd ~ | enew | setfiletype chat");
    chat.nvim.lua("require('flemma').setup({})", &[]);
    assert_eq!(writing(&mut chat, &["a.rs", "work/a.rs"]), [ask; 2], "the home folder is no project");

    // The user's own options override the default, as documented.
    chat.nvim.command("cd ~/work | edit notes.chat");
    for options in [
        "write_outside = 'auto'",
        "auto_approve = { '$default', 'write', 'edit' }",
        "presets = { ['$default'] = { approve = { 'write', 'edit' } } }",
    ] {
        chat.nvim.lua(&format!("require('flemma').setup({{ tools = {{ {options} }} }})"), &[]);
        // Start-up files ask every time.
        assert_eq!(writing(&mut chat, &outside), [ask, yes, ask, ask, ask, yes, ask, ask, ask, yes], "{options}");
    }
    let denied = "auto_approve = { '$default', '!write(~/.bashrc)', '!edit(~/.bashrc)' }, write_outside = 'auto'";
    chat.nvim.lua(&format!("require('flemma').setup({{ tools = {{ {denied} }} }})"), &[]);
    assert_eq!(writing(&mut chat, &["~/.bashrc", "~/x"]), ["deny", yes]);
    assert_eq!(chat.nvim.lua("return require('flemma').setup({ tools = { write_outside = 'no' } })", &[]), false);
    chat.nvim
        .wait_for("why", |nvim| said(nvim).contains("`tools.write_outside` must be \"ask\" or \"auto\", not \"no\""));
}

#[test]
fn what_neovim_runs_from_runtimepath_asks_every_time() {
    let chat = &mut Chat::start(&Setup { files: &[("repo/.git/config", "")], ..Setup::default() }, []);
    chat.nvim.lua("require('flemma').setup({ tools = { auto_approve = { 'write', 'edit' } } })", &[]);
    let (yes, ask) = ("approve", "require_approval");
    let files =
        ["lua/x.lua", "plugin/x.lua", "src/x.rs", "repo/lua/x.lua", "repo/doc/x.txt", "pack/p/start/q/lua/x.lua"];
    assert_eq!(writing(chat, &files), [yes; 6]);
    chat.nvim.command("set runtimepath+=.");
    assert_eq!(writing(chat, &files), [ask, ask, yes, yes, yes, ask]);
    chat.nvim.command("set runtimepath-=. runtimepath+=~/work/repo");
    assert_eq!(writing(chat, &files), [yes, yes, yes, ask, yes, yes]);
}
