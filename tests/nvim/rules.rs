//! Rules of approval for commands and files, and where files are written without a question.

use serde_json::json;

use super::{
    anthropic::Stream,
    approval::{resolve, results, waiting},
    chat::{Chat, Setup, prose, reply, said},
};

#[test]
fn always_is_refused_for_a_command_that_no_rule_can_stand_for() {
    let mut chat = waiting(&["bash -c 'echo one'"], &Setup::default());
    let before = chat.nvim.text();
    chat.nvim.command("Flemma tool:approve always");
    chat.nvim
        .wait_for("why", |nvim| said(nvim).contains("not approved permanently: no rule can cover this call of `bash`"));
    assert_eq!(chat.nvim.text(), before);
}

#[test]
fn rules_speak_of_a_commands_words_and_of_a_files_place() {
    let setup = Setup {
        files: &[("src/a.rs", "x")],
        options: "tools = { auto_approve = { 'bash(git status)', 'bash(cargo test *)', 'read(src/**)', '!bash(rm *)' } }",
        lua: "vim.uv.fs_symlink('/etc', 'src/link'); vim.env.exported = 'x'",
        ..Setup::default()
    };
    let mut chat = Chat::start(&setup, []);
    for (command, decision) in [
        ("git status", "approve"),
        ("for own in a; do git status; done", "approve"),
        // Commands inherit Neovim's environment.
        ("for exported in a; do git status; done", "require_approval"),
        ("cd sub && git status", "require_approval"),
        ("cargo test --lib && cargo test", "approve"),
        ("git status && cargo test x; git status", "approve"),
        ("git push", "require_approval"),
        ("git status > out", "require_approval"),
        ("git status; $(git status)", "require_approval"),
        ("git status && rm -rf .", "deny"),
        ("env rm x", "deny"),
        ("echo `rm x`", "deny"),
    ] {
        assert_eq!(resolve(&mut chat, command)[0], decision, "{command}");
    }
    for (path, decision) in [
        ("src/a.rs", "approve"),
        ("./src/../src/a.rs", "approve"),
        ("src/../notes.chat", "require_approval"),
        ("src/link/passwd", "require_approval"),
        ("/etc/passwd", "require_approval"),
    ] {
        let found =
            chat.nvim.lua("return require('flemma.tools.approval').resolve('read', { path = ... })", &[json!(path)]);
        assert_eq!(found, decision, "{path}");
    }
}

#[test]
fn a_bad_rule_is_an_error_and_keeps_the_previous_options() {
    let mut chat = Chat::start(&Setup::default(), []);
    for (list, message) in [
        ("auto_approve = { '!bash(rm' }", "tools.auto_approve: the rule `!bash(rm`: it does not end in `)`"),
        (
            "presets = { ['$x'] = { deny = { 'bash()' } } }",
            "tools.presets.$x: the rule `bash()`: there is nothing between",
        ),
    ] {
        let ok = chat.nvim.lua(&format!("return require('flemma').setup({{ tools = {{ {list} }} }})"), &[]);
        assert_eq!(ok, false, "{list}");
        chat.nvim.wait_for(message, |nvim| said(nvim).contains(message));
    }
    assert_eq!(chat.nvim.lua("return require('flemma').options().model", &[]), "claude-test");
}

#[test]
fn a_policy_that_cannot_be_read_lets_nothing_run_by_itself() {
    let setup =
        Setup { options: "tools = { auto_approve = { 'bash(ls)', '!write', 'bash(read *)' } }", ..Setup::default() };
    let mut chat = Chat::start(&setup, []);
    for tool in ["read", "write", "bash"] {
        let found = chat.nvim.lua("return require('flemma.tools.approval').resolve(..., {})", &[json!(tool)]);
        assert_eq!(found, "require_approval", "{tool}");
    }
}

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
        assert_eq!(writing(&mut chat, &outside), [yes; 10], "{options}");
    }
    let denied = "auto_approve = { '$default', '!write(~/.bashrc)', '!edit(~/.bashrc)' }, write_outside = 'auto'";
    chat.nvim.lua(&format!("require('flemma').setup({{ tools = {{ {denied} }} }})"), &[]);
    assert_eq!(writing(&mut chat, &["~/.bashrc", "~/x"]), ["deny", yes]);
    assert_eq!(chat.nvim.lua("return require('flemma').setup({ tools = { write_outside = 'no' } })", &[]), false);
    chat.nvim
        .wait_for("why", |nvim| said(nvim).contains("`tools.write_outside` must be \"ask\" or \"auto\", not \"no\""));
}

#[test]
fn a_denied_path_is_left_out_of_searches() {
    let files = [("secret/key.txt", "the word\n"), ("open.txt", "the word\n")];
    let matter = "```lua\nflemma.opt.tools.auto_approve:append(\"!read(secret/**)\")\n```\n";
    for (options, block) in
        [("tools = { auto_approve = { '$default', '!read(secret/**)' } }", ""), ("tools = {}", matter)]
    {
        let grep = json!({ "label": null, "pattern": "word", "path": null, "glob": null, "case": null,
            "fixed_strings": null, "context": null, "limit": null, "all": null });
        let mut secret = grep.clone();
        secret["path"] = "secret".into();
        let [all, secret] = [grep, secret].map(|input| input.to_string());
        let stream = Stream::new().tool_use("a", "grep", &[&all]).tool_use("b", "grep", &[&secret]);
        let calls = reply(&stream.end("tool_use"));
        let setup = Setup { files: &files, options, ..Setup::default() };
        let mut chat = Chat::start(&setup, [calls, prose(&["fine"])]);
        let lines: Vec<&str> = block.lines().collect();
        chat.nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(0), json!(false), json!(lines)]);
        chat.nvim.input("<C-]>");
        let found = results(&mut chat);
        assert_eq!(
            found[0], "open.txt:1:the word\n\n[1 path was left out: the user's policy denies reading there]",
            "{options}"
        );
        assert!(found[1].contains("The user's policy denies this call"), "{options}: {found:?}");
    }
}
