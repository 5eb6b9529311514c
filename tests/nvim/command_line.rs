//! The command line and an editor with the same conversation.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::json;

use super::{
    chat::{Chat, Setup, call, prose, said},
    http::Reply,
};

/// A tool whose calls a person answers, with a number.
const PORT: &str = "require('flemma.tools').register('port', {
    description = 'Asks for a port.',
    executor = 'human',
    input_schema = { type = 'object' },
    result_schema = { type = 'integer', minimum = 1 },
})";

/// `flemma resolve`, by the user of this editor.
fn flemma(chat: &Chat, file: &Path, call: &str, result: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
    command.arg("resolve").arg(file).arg(call).args(result).env_clear();
    command.env("HOME", "/nowhere").env("XDG_STATE_HOME", chat.nvim.folder("state"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Its exit code, and what it said to people.
fn said_by(output: &Output) -> (i32, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8(text).unwrap())
}

fn run(mut command: Command) -> (i32, String) {
    said_by(&command.output().unwrap())
}

/// Waits until the conversation is read, and its journal, and it is known who holds it.
fn wait_until_settled(chat: &mut Chat) {
    let settled = "return require('flemma.native').call('is_settled', 1)";
    chat.nvim.wait_for("the conversation", |nvim| nvim.lua(settled, &[]) == true);
    chat.wait_until_idle();
}

fn ask() -> Reply {
    call("toolu_1", "port", &json!({}))
}

/// An editor in which a question waits, and its file.
fn with_question(replies: impl IntoIterator<Item = Reply>) -> (Chat, std::path::PathBuf) {
    let mut chat = Chat::start(&Setup { lua: PORT, ..Setup::default() }, [ask()].into_iter().chain(replies));
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the question", |nvim| nvim.file("notes.chat").contains("kind=elicitation"));
    chat.wait_until_idle();
    let file = chat.nvim.work().join("notes.chat");
    (chat, file)
}

#[test]
fn an_editor_that_has_the_conversation_open_resolves_the_call() {
    let (mut chat, file) = with_question([prose(&["fine"])]);
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--result", "\"'..vim.fn.delete(0)..'\""]));
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("does not match the result_schema of `port`"), "{words}");
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--approve"]));
    assert!(code == 1 && words.contains("stale: it waits for an answer: use --result or --error"), "{words}");
    let (code, words) = run(flemma(&chat, &file, "toolu_2", &["--approve"]));
    assert!(code == 1 && words.contains("there is no call `toolu_2` here (pending: toolu_1)"), "{words}");
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--result", "8080"]));
    assert!(code == 0 && words.ends_with("has its result, in the editor that has the conversation open\n"), "{words}");
    assert!(chat.nvim.text().contains("**Tool Result:** `toolu_1`\n\n```json\n8080\n```"), "{}", chat.nvim.text());
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--result", "8081"]));
    assert!(code == 1 && words.contains("stale: it was resolved before by the command line ("), "{words}");
    assert_eq!(chat.server.requests().len(), 2);
}

#[test]
fn an_answer_while_nobody_has_it_open_is_carried_on_by_the_next_editor() {
    let (mut chat, file) = with_question([]);
    chat.nvim.kill();
    // The tool is not known to the command line, and its answer is checked all the same.
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--result", "\"no port\""]));
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("does not match the result_schema of `port`"), "{words}");
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--result", "8080"]));
    assert_eq!(code, 0, "{words}");
    assert!(fs::read_to_string(&file).unwrap().contains("```json\n8080\n```"));
    // Without autopilot, each step is the user's.
    let without = "tools = { autopilot = { enabled = false } }";
    let mut other = Chat::another(&chat, &file, (without, PORT), []);
    wait_until_settled(&mut other);
    assert_eq!(other.server.requests().len(), 0);
    other.nvim.input(":qall<CR>");
    other.nvim.wait_for_exit();
    let mut chat = Chat::another(&chat, &file, ("", PORT), [prose(&["fine"])]);
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    chat.wait_until_idle();
    // It has had its effect.
    chat.nvim.wait_for("the file", |nvim| {
        fs::read_to_string(&file).unwrap().contains("fine") && nvim.lua("return vim.bo.modified", &[]) == false
    });
    chat.nvim.kill();
    let mut again = Chat::another(&chat, &file, ("", PORT), []);
    wait_until_settled(&mut again);
    assert_eq!((chat.server.requests().len(), again.server.requests().len()), (1, 0));
}

/// What `flemma pending` prints of a file.
fn pending(chat: &Chat, file: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
    command.arg("pending").arg(file).env_clear().env("HOME", "/nowhere");
    command.env("XDG_STATE_HOME", chat.nvim.folder("state")).stdin(Stdio::null());
    run(command).1
}

#[test]
fn an_interrupted_call_runs_again_only_after_an_approval() {
    let command = "echo x >> ran; [ $(wc -l < ran) -gt 1 ] || sleep 600";
    let bash = call("toolu_1", "bash", &json!({ "label": null, "command": command, "timeout": null }));
    let mut chat = Chat::start(&Setup::default(), [bash]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.file("notes.chat").contains("status=pending"));
    chat.wait_until_idle();
    let file = chat.nvim.work().join("notes.chat");
    let ran = |times| fs::read_to_string(file.with_file_name("ran")).is_ok_and(|text| text == "x\n".repeat(times));
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the command", |_| ran(1));
    // Whoever looks does not take a call that runs for one that was interrupted.
    assert_eq!(pending(&chat, &file), "");
    chat.nvim.kill();
    let listed = pending(&chat, &file);
    assert!(listed.contains(": toolu_1 bash approval, interrupted: it was started 2"), "{listed}");
    let (code, words) = run(flemma(&chat, &file, "toolu_1", &["--approve"]));
    assert!(code == 0 && words.ends_with("is approved; it runs when the conversation is opened next\n"), "{words}");
    assert_eq!(pending(&chat, &file), "");
    let folder = format!("vim.cmd.cd({:?})", file.parent().unwrap());
    let mut again = Chat::another(&chat, &file, ("", &folder), [prose(&["fine"])]);
    again.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    assert!(ran(2));
}

#[test]
fn an_editor_records_what_the_calls_of_a_file_wait_for() {
    let (mut chat, file) = with_question([]);
    chat.nvim.kill();
    // As it comes from somebody else, with a lie.
    let theirs = file.with_file_name("theirs.chat");
    fs::write(&theirs, fs::read_to_string(&file).unwrap().replace("kind=elicitation", "kind=approval")).unwrap();
    assert!(pending(&chat, &theirs).contains(" toolu_1 port approval (as the file says)"));
    let (code, words) = run(flemma(&chat, &theirs, "toolu_1", &["--approve"]));
    assert!(code == 1 && words.contains("it is not known here what the tool `port` does"), "{words}");
    let mut other = Chat::another(&chat, &theirs, ("", PORT), []);
    wait_until_settled(&mut other);
    other.nvim.input(":qall!<CR>");
    other.nvim.wait_for_exit();
    let listed = pending(&chat, &theirs);
    assert!(listed.contains(" toolu_1 port elicitation,"), "{listed}");
    let (code, words) = run(flemma(&chat, &theirs, "toolu_1", &["--approve"]));
    assert!(code == 1 && words.contains("it waits for an answer"), "{words}");
    let (code, words) = run(flemma(&chat, &theirs, "toolu_1", &["--result", "0"]));
    assert!(code == 1 && words.contains("does not match the result_schema of `port`"), "{words}");
    assert_eq!(run(flemma(&chat, &theirs, "toolu_1", &["--result", "8080"])).0, 0);
}

#[test]
fn a_call_that_the_command_line_approved_runs_once_when_it_is_opened() {
    let bash = call("toolu_1", "bash", &json!({ "label": null, "command": "echo x >> ran", "timeout": null }));
    let mut chat = Chat::start(&Setup::default(), [bash]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.file("notes.chat").contains("status=pending"));
    chat.wait_until_idle();
    let file = chat.nvim.work().join("notes.chat");
    chat.nvim.kill();
    let before = fs::read(&file).unwrap();
    assert_eq!(run(flemma(&chat, &file, "toolu_1", &["--approve"])).0, 0);
    assert!(!file.with_file_name("ran").exists());
    // The decision counts even if the file could not have been written.
    fs::write(&file, before).unwrap();
    // A copy has no record of the decision.
    let copy = file.with_file_name("copy.chat");
    fs::copy(&file, &copy).unwrap();
    let folder = format!("vim.cmd.cd({:?})", file.parent().unwrap());
    let mut of_copy = Chat::another(&chat, &copy, ("", &folder), []);
    wait_until_settled(&mut of_copy);
    assert!(!file.with_file_name("ran").exists());
    let mut chat = Chat::another(&chat, &file, ("", &folder), [prose(&["fine"])]);
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    assert_eq!(fs::read_to_string(file.with_file_name("ran")).unwrap(), "x\n");
    assert_eq!(said(&mut chat.nvim), "");
}

/// How many calls are raced for.
const CALLS: usize = 100;

#[test]
fn between_a_key_and_the_command_line_there_is_one_winner() {
    let mut text = "@You:\nHello\n\n@Assistant:\n".to_owned();
    for n in 0..CALLS {
        let input = json!({ "label": null, "command": format!("echo {n} >> ran"), "timeout": null });
        text += &format!("**Tool Use:** `bash` (`call_{n}`)\n\n```json\n{input}\n```\n\n");
    }
    text += "@You:\n";
    for n in 0..CALLS {
        text += &format!("**Tool Result:** `call_{n}`\n\n```flemma:tool status=pending\n```\n\n");
    }
    let options = "tools = { autopilot = { enabled = false }, max_concurrent = 100 }";
    let mut chat = Chat::start(&Setup { text: Some(&text), options, ..Setup::default() }, []);
    let file = chat.nvim.work().join("notes.chat");
    wait_until_settled(&mut chat);
    let mut won = Vec::new();
    for n in 0..CALLS {
        let rival = flemma(&chat, &file, &format!("call_{n}"), &["--reject", &format!("refused {n}")]).spawn().unwrap();
        // The command line needs a while to get here: who comes first differs from call to call.
        thread::sleep(std::time::Duration::from_micros(400 * (n as u64 % 25)));
        chat.go_to(&format!("Tool Result:** `call_{n}`"));
        chat.nvim.command("silent! Flemma tool:approve");
        let (code, words) = said_by(&rival.wait_with_output().unwrap());
        assert!(code == 0 || words.contains("stale"), "{words}");
        won.push(code == 0);
    }
    assert!(won.contains(&true) && won.contains(&false), "each side wins some: {won:?}");
    chat.nvim.wait_for("all results", |nvim| !nvim.text().contains("flemma:tool"));
    let (text, ran) = (chat.nvim.text(), chat.nvim.file("ran"));
    for (n, by_command_line) in won.iter().enumerate() {
        assert_eq!(
            ran.lines().filter(|line| *line == n.to_string()).count(),
            usize::from(!by_command_line),
            "{n}: {ran}"
        );
        assert_eq!(text.contains(&format!("refused {n}\n")), *by_command_line, "{n}");
    }
}
