//! One file in two editors: one holds it, the other one shows it, follows it, and takes over.

use std::{fs, os::unix::fs::symlink, path::Path, slice};

use serde_json::{Value, json};

use super::{
    chat::{Chat, KEY, Setup, call, init, prose, said},
    http::{Reply, Server},
    support::{Nvim, Options},
};

/// A call that waits.
const WAITING: &str = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"echo hi\",\"timeout\":null,\
                       \"label\":null}\n```\n\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";

/// A second editor of the same user, with this file.
fn second(first: &Chat, file: &Path, replies: impl IntoIterator<Item = Reply>) -> Chat {
    Chat::another(first, file, ("", ""), replies)
}

fn is_observer(nvim: &mut Nvim) -> bool {
    nvim.lua("return not vim.bo.modifiable and vim.bo.readonly", &[]) == true
}

fn wait_until_observer(chat: &mut Chat) {
    chat.nvim.wait_for("a read-only buffer", is_observer);
}

fn wait_until_taken_over(chat: &mut Chat) {
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("can be edited here now: nobody else has it open."));
    assert!(!is_observer(&mut chat.nvim));
    assert_eq!(said(&mut chat.nvim).matches("can be edited here now").count(), 1);
}

/// Waits until an editor holds a file, whose lock names its process.
fn wait_until_held(nvim: &mut Nvim, file: &Path) {
    let process = nvim.lua("return vim.fn.getpid()", &[]);
    let lock = file.with_file_name(format!(".{}.flemma-lock", file.file_name().unwrap().to_str().unwrap()));
    nvim.wait_for("the lock", |_| {
        fs::read_to_string(&lock).is_ok_and(|line| line.starts_with(&format!("{{\"process\":{process},")))
    });
}

#[test]
fn every_key_and_command_is_refused_in_the_second_editor() {
    let mut first = Chat::start(&Setup { text: Some(WAITING), ..Setup::default() }, []);
    let file = first.nvim.work().join("notes.chat");
    wait_until_held(&mut first.nvim, &file);
    let process = first.nvim.lua("return vim.fn.getpid()", &[]);
    // By its own name, by a link, and by a hard link.
    let (link, twin) = (first.nvim.work().join("link.chat"), first.nvim.work().join("twin.chat"));
    symlink(&file, &link).unwrap();
    fs::hard_link(&file, &twin).unwrap();
    first.nvim.command("silent edit!");
    first.nvim.command("silent write!");
    wait_until_held(&mut first.nvim, &file);
    for name in [&file, &link, &twin] {
        let mut chat = second(&first, name, []);
        wait_until_observer(&mut chat);
        let base = name.file_name().unwrap().to_str().unwrap();
        let begin = format!("{base} is open in another Neovim (process {process} on ");
        assert!(said(&mut chat.nvim).contains(&begin), "{}", said(&mut chat.nvim));
        if name != &file {
            continue;
        }
        chat.go_to("Tool Result");
        let mut count = 1;
        for keys in [
            "<C-]>",
            "<M-CR>",
            ":Flemma send<CR>",
            ":Flemma tool:execute<CR>",
            ":Flemma tool:approve<CR>",
            ":Flemma tool:approve always<CR>",
            ":Flemma tool:reject no<CR>",
            ":lua require('flemma.core').send_or_execute()<CR>",
        ] {
            chat.nvim.command("messages clear");
            chat.nvim.input(keys);
            chat.nvim.wait_for(&format!("the refusal of {keys}"), |nvim| {
                said(nvim).contains("It is read-only here until that editor closes it.")
            });
            count += 1;
        }
        assert_eq!(count, 9);
        // Nothing can be typed, taken back or written.
        for keys in ["ityped<Esc>", "u", "<C-r>", "dd", ":write<CR>"] {
            chat.nvim.command("messages clear");
            chat.nvim.input(keys);
            chat.nvim.wait_for(&format!("the error of {keys}"), |nvim| {
                let said = said(nvim);
                said.contains("E21")
                    || said.contains("E45")
                    || (keys.starts_with('i') && said.contains("read-only here"))
            });
        }
        assert_eq!(chat.nvim.text(), WAITING);
        let status = chat
            .nvim
            .lua("return table.concat(require('flemma.status').lines(vim.api.nvim_get_current_buf()), '\\n')", &[]);
        let owner = format!("read-only: open in another Neovim (process {process} on ");
        assert!(status.as_str().unwrap().contains(&owner), "{status}");
        let line = chat.nvim.lua("return require('flemma.statusline').component()", &[]);
        assert_eq!(line, "claude-test · read-only");
        assert_eq!(chat.server.requests().len(), 0);
    }
    assert_eq!(first.nvim.file("notes.chat"), WAITING);
    // The first one has not noticed anything.
    assert_eq!(first.nvim.lua("return vim.bo.modifiable", &[]), true);
}

#[test]
fn a_call_that_runs_in_the_first_editor_is_shown_so() {
    let input = json!({ "command": "until [ -e go ]; do sleep 0.02; done", "timeout": null, "label": null });
    let mut first = Chat::start(
        &Setup { options: "tools = { auto_approve = { 'bash' } }", ..Setup::default() },
        [call("toolu_1", "bash", &input), prose(&["fine"])],
    );
    first.nvim.input("<C-]>");
    first.nvim.wait_for("the call", |nvim| nvim.file("notes.chat").contains("status=running"));
    let file = first.nvim.work().join("notes.chat");
    let mut chat = second(&first, &file, []);
    chat.nvim.wait_for_screen("this call runs in another Neovim");
    let rows = chat.nvim.screen().join("\n");
    assert!(rows.contains("bash") && !rows.contains("stopped"), "{rows}");
    fs::write(first.nvim.work().join("go"), "").unwrap();
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
}

#[test]
fn a_second_editor_follows_the_first_and_takes_over() {
    let text = format!("@You:\n{}Hello\n", "filler\n".repeat(80));
    let setup = Setup { text: Some(&text), options: "editing = { auto_write = true }", ..Setup::default() };
    let mut first = Chat::start(&setup, [prose(&["from the first"])]);
    let file = first.nvim.work().join("notes.chat");
    wait_until_held(&mut first.nvim, &file);
    let mut chat = second(&first, &file, [prose(&["from the second"])]);
    wait_until_observer(&mut chat);
    chat.nvim.input("40Gzt3l");
    let view = "local v = vim.fn.winsaveview() return { v.topline, v.lnum, v.col }";
    chat.nvim.wait_for("the cursor", |nvim| nvim.lua(view, &[]) == json!([40, 40, 3]));
    first.nvim.input("<C-]>");
    // The end of a turn is written, and shown.
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("from the first"));
    assert_eq!(chat.nvim.cursor(), (40, 3));
    assert!(is_observer(&mut chat.nvim));
    assert_eq!(said(&mut chat.nvim).matches("in another Neovim").count(), 1, "it is mentioned once");
    first.wait_until_idle();
    first.nvim.input("Gotyped in the first<Esc>:wq<CR>");
    first.nvim.wait_for_exit();
    wait_until_taken_over(&mut chat);
    assert!(chat.nvim.text().ends_with("typed in the first\n"), "{}", chat.nvim.text());
    assert_eq!(chat.nvim.cursor(), (40, 3));
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false);
    wait_until_held(&mut chat.nvim, &file);
    chat.send_until("from the second");
    // Undo works as it does in the editor that has always held it.
    chat.nvim.input("u");
    chat.nvim.wait_for("the reply to go", |nvim| !nvim.text().contains("from the second"));
    assert!(chat.nvim.text().contains("typed in the first"));
    chat.nvim.input(":wq<CR>");
    chat.nvim.wait_for_exit();
    assert!(fs::read_to_string(&file).unwrap().contains("typed in the first"));
    assert!(!file.with_file_name(".notes.chat.flemma-lock").exists(), "the lock goes with its holder");
}

#[test]
fn a_kill_hands_the_conversation_over_and_loses_nothing() {
    let mut first = Chat::start(&Setup { text: Some(WAITING), ..Setup::default() }, []);
    let file = first.nvim.work().join("notes.chat");
    wait_until_held(&mut first.nvim, &file);
    let mut chat = second(&first, &file, [prose(&["fine"])]);
    wait_until_observer(&mut chat);
    first.nvim.kill();
    wait_until_taken_over(&mut chat);
    chat.go_to("Tool Result");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("```\nhi\n```"));
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    chat.wait_until_idle();
    chat.nvim.input("Gotyped<Esc>");
    chat.nvim.wait_for("typed text", |nvim| nvim.text().ends_with("typed\n"));
}

#[test]
fn text_of_the_second_editor_is_kept_until_the_user_decides() {
    let mut first = Chat::start(&Setup::default(), []);
    let file = first.nvim.work().join("notes.chat");
    wait_until_held(&mut first.nvim, &file);
    let mut chat = second(&first, &first.nvim.work().join("fork.chat"), []);
    // Typed before anybody knew, as far as the second editor can tell.
    let path = file.to_str().unwrap();
    chat.nvim.lua("vim.cmd.edit((...)) vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'typed' })", &[path.into()]);
    wait_until_observer(&mut chat);
    let advice = "Your changes are kept: `:saveas` writes them to another file, `:edit!` discards them.";
    chat.nvim.wait_for("advice", |nvim| said(nvim).contains(advice));
    first.nvim.input("Gofrom the first<Esc>:wq<CR>");
    first.nvim.wait_for_exit();
    wait_until_taken_over(&mut chat);
    assert!(said(&mut chat.nvim).contains("`:write!` replaces the file with them, `:edit!` discards them"));
    assert_eq!(chat.nvim.text(), "@You:\nHello\ntyped\n");
    chat.nvim.command("silent edit!");
    assert_eq!(chat.nvim.text(), "@You:\nHello\nfrom the first\n");
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua("return vim.bo.readonly", &[]), false);
}

#[test]
fn an_unwritten_conversation_is_followed_without_asking() {
    let mut first = Chat::start(&Setup { text: None, ..Setup::default() }, []);
    let file = first.nvim.work().join("notes.chat");
    wait_until_held(&mut first.nvim, &file);
    let mut chat = second(&first, &file, []);
    wait_until_observer(&mut chat);
    first.nvim.input("Gofrom the first<Esc>:write<CR>");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("from the first"));
    wait_until_observer(&mut chat);
    assert_eq!(chat.nvim.mode(), "n");
    // A copy of its own, by `:saveas`, is nobody else's.
    let copy = file.with_file_name("copy.chat");
    chat.nvim.command(&format!("silent saveas {}", copy.display()));
    chat.wait_until_idle();
    wait_until_held(&mut chat.nvim, &copy);
    assert_eq!(chat.nvim.lua("return vim.bo.readonly", &[]), false);
    wait_until_held(&mut first.nvim, &file);
}

fn question() -> Reply {
    call("toolu_1", "ask_user", &json!({ "question": "Which port?", "options": null, "default": null }))
}

/// Waits until the question is in the file.
fn wait_for_question(chat: &mut Chat) {
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.file("notes.chat").contains("kind=elicitation"));
    chat.wait_until_idle();
}

fn resolve(nvim: &mut Nvim, file: &Path, answer: &str) -> Value {
    let code = "local ok, problem = require('flemma.tools').resolve((...), 'toolu_1', { answer = select(2, ...) })
                return { ok or false, problem or '' }";
    nvim.lua(code, &[file.to_str().unwrap().into(), answer.into()])
}

/// Resolves the question the moment the buffer holds its conversation: with a callback, nothing is waited for.
const AT_ONCE: &str = "local wait, has_callback, heard = vim.wait, ..., nil
    local resolve, answer = require('flemma.tools').resolve, { answer = '8080' }
    wait(60000, function() return not vim.bo.readonly end, 1)
    local is_settled = require('flemma.native').call('state', vim.api.nvim_get_current_buf(), 'settled')
    if has_callback then
      local later = vim.defer_fn
      vim.wait, vim.defer_fn = function() error('it waits') end, function() error('it polls') end
      resolve(0, 'toolu_1', answer, function(...) heard = { ... } end)
      vim.wait, vim.defer_fn = wait, later
      assert(heard == nil and wait(60000, function() return heard end, 1))
    else
      heard = { resolve(0, 'toolu_1', answer) }
    end
    return { heard[1] or false, heard[2] or '' }";

#[test]
fn an_observer_that_takes_over_answers_the_question_once() {
    for has_callback in [false, true] {
        let mut first = Chat::start(&Setup::default(), [question()]);
        let file = first.nvim.work().join("notes.chat");
        wait_for_question(&mut first);
        let mut chat = second(&first, &file, [prose(&["fine"])]);
        wait_until_observer(&mut chat);
        let refused = resolve(&mut chat.nvim, &file, "early");
        assert!(refused[1].as_str().unwrap().contains("is open in another Neovim (process "), "{refused}");
        chat.go_to("Tool Result");
        chat.nvim.input("<M-CR>");
        chat.nvim.wait_for("the refusal", |nvim| said(nvim).contains("It is read-only here"));
        first.nvim.kill();
        assert_eq!(chat.nvim.lua(AT_ONCE, &[has_callback.into()]), json!([true, ""]), "{has_callback}");
        assert_eq!(resolve(&mut chat.nvim, &file, "8081"), json!([false, "stale"]));
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
        chat.wait_until_idle();
        assert!(chat.nvim.text().contains("```\n8080\n```"));
        assert_eq!(chat.server.requests().len(), 1);
    }
}

/// A copy of a conversation, which is another conversation.
fn copy_of(file: &Path) -> std::path::PathBuf {
    let copy = file.with_file_name("copy.chat");
    fs::copy(file, &copy).unwrap();
    copy
}

#[test]
fn a_program_resolves_a_call_once_nobody_holds_the_file() {
    let mut first = Chat::start(&Setup::default(), [question()]);
    let file = first.nvim.work().join("notes.chat");
    wait_for_question(&mut first);
    let server = Server::start([prose(&["fine"]), prose(&["too much"])]);
    let state = first.nvim.folder("state");
    let mut headless = Nvim::start(&Options {
        init: &init(&server.base_url(), ""),
        environment: &[("ANTHROPIC_API_KEY", KEY), ("XDG_STATE_HOME", state.to_str().unwrap())],
        screen: None,
        ..Options::default()
    });
    let refused = resolve(&mut headless, &file, "early");
    assert_eq!(refused[0], false);
    assert!(refused[1].as_str().unwrap().contains("notes.chat is open in another Neovim (process "), "{refused}");
    first.nvim.kill();
    headless.wait_for("the acknowledgement", |nvim| resolve(nvim, &file, "8080")[0] == true);
    assert_eq!(resolve(&mut headless, &file, "8081"), json!([false, "stale"]));
    headless.wait_for("the reply in the file", |_| fs::read_to_string(&file).unwrap().contains("fine"));
    // The program does not hold the file any longer than it has something to do there.
    let lock = file.with_file_name(".notes.chat.flemma-lock");
    let is_open = "return vim.fn.bufexists((...)) == 1";
    let path: Value = file.to_str().unwrap().into();
    headless
        .wait_for("the file to be let go", |nvim| !lock.exists() && nvim.lua(is_open, slice::from_ref(&path)) == false);
    assert_eq!(resolve(&mut headless, &file, "8082"), json!([false, "stale"]));
    headless
        .wait_for("the file to be let go", |nvim| !lock.exists() && nvim.lua(is_open, slice::from_ref(&path)) == false);
    // What the user has opened stays open.
    headless.lua("vim.cmd.edit((...))", slice::from_ref(&path));
    assert_eq!(resolve(&mut headless, &file, "8083"), json!([false, "stale"]));
    assert_eq!(resolve(&mut headless, &copy_of(&file), "8084"), json!([false, "stale"]));
    headless.wait_for("the copy to be let go", |nvim| {
        nvim.lua(is_open, &[copy_of(&file).to_str().unwrap().into()]) == false
    });
    assert_eq!(headless.lua(is_open, &[path]), true);
    wait_until_held(&mut headless, &file);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("**Tool Result:**").count(), 1);
    assert!(text.contains("```\n8080\n```"), "{text}");
    assert_eq!(server.requests().len(), 1);
}
