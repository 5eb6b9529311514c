//! A disk that does not answer, such as a network share that is gone: the editor goes on, and nothing is approved or run that the
//! disk would have to say more about.
#![cfg(target_os = "linux")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    anthropic::Stream,
    attachments::BASE64,
    chat::{Chat, KEY, Setup, call, prose, reply, said},
    http::Reply,
};

/// A share that answers or does not. It has `a.txt`.
struct Share(TempDir);

impl Share {
    fn new() -> Self {
        let share = Self(tempfile::tempdir().unwrap());
        fs::create_dir(share.root().join("share")).unwrap();
        fs::write(share.path().join("a.txt"), "far away\n").unwrap();
        build(&share.library());
        share
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// What is preloaded into the editor.
    fn library(&self) -> PathBuf {
        self.root().join("slow_disk.so")
    }

    fn path(&self) -> PathBuf {
        self.root().join("share")
    }

    fn hangs(&self) {
        fs::write(self.root().join("share.gate"), "").unwrap();
    }

    fn answers(&self) {
        let _ = fs::remove_file(self.root().join("share.gate"));
    }

    /// A conversation in an editor that has this share. `SHARE` in the options is its path.
    fn chat(&self, options: &str, replies: impl IntoIterator<Item = Reply>) -> Chat {
        let share = self.path().into_os_string().into_string().unwrap();
        let library = self.library();
        let environment = &[
            ("ANTHROPIC_API_KEY", KEY),
            ("LD_PRELOAD", library.to_str().unwrap()),
            ("FLEMMA_SLOW_DISK", share.as_str()),
        ];
        let options = &options.replace("SHARE", &share);
        Chat::start(&Setup { files: &[("b.txt", "near\n")], options, environment, ..Setup::default() }, replies)
    }

    /// A call that reads its file.
    fn read(&self) -> Value {
        read(self.path().join("a.txt").to_str().unwrap())
    }

    /// A conversation with an approved call of `read` that cannot be judged, as the share does not answer.
    fn judging(&self) -> Chat {
        let options = "tools = { auto_approve = { 'read(SHARE/**)' } }";
        let mut chat = self.chat(options, [call("toolu_1", "read", &self.read()), prose(&["fine"])]);
        self.hangs();
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the call", |nvim| nvim.text().contains("toolu_1"));
        chat
    }
}

/// Builds what is preloaded.
pub fn build(library: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/slow_disk.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(library).args([source, "-ldl"]).status();
    assert!(built.expect("a C compiler").success());
}

impl Drop for Share {
    fn drop(&mut self) {
        // Threads of the editor wait for it.
        self.answers();
    }
}

fn read(path: &str) -> Value {
    json!({ "label": null, "path": path, "offset": null, "limit": null })
}

#[test]
fn a_call_on_a_disk_that_does_not_answer_waits_for_the_user() {
    for options in [
        "tools = { auto_approve = { 'read', '!read(SHARE/private/**)' } }",
        "tools = { auto_approve = { 'read' } }, agents = { a = { allowed_read_paths = { 'SHARE' } } }, agent = 'a'",
    ] {
        let share = Share::new();
        let mut chat = share.chat(options, [call("toolu_1", "read", &share.read()), prose(&["fine"])]);
        share.hangs();
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the call to wait", |nvim| nvim.text().contains("status=pending"));
        chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("so it is not known"));
        // It is not approved either, since a rule may deny it.
        chat.nvim.command("call search('toolu_1') | messages clear");
        chat.nvim.command("Flemma tool:approve");
        chat.nvim.wait_for("the answer", |nvim| said(nvim).contains("so it is not known"));
        assert!(chat.nvim.text().contains("status=pending"), "{options}");
        assert!(!chat.nvim.text().contains("far away"), "{options}");
        share.answers();
        chat.nvim.command("messages clear");
        chat.nvim.wait_for("the approval", |nvim| {
            nvim.command("Flemma tool:approve");
            !nvim.text().contains("status=pending")
        });
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert!(chat.nvim.text().contains("far away"), "{options}: {}", chat.nvim.text());
    }
}

/// A busy disk is no silent one: the call runs when it has answered. Neovim hears keys until then.
#[test]
fn a_disk_that_takes_two_seconds_holds_up_only_its_call() {
    let share = Share::new();
    let mut chat = share.judging();
    chat.nvim.wait_for_screen("being judged");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        assert!(!chat.nvim.text().contains("flemma:tool"), "{}", chat.nvim.text());
    }
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false);
    share.answers();
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert!(chat.nvim.text().contains("far away"), "{}", chat.nvim.text());
    assert!(!said(&mut chat.nvim).contains("so it is not known"));
}

#[test]
fn a_review_says_that_the_disk_does_not_answer() {
    let share = Share::new();
    let input = json!({ "path": share.path().join("a.txt"), "content": "new\n" });
    let mut chat = share.chat("", [call("toolu_1", "write", &input)]);
    share.hangs();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call to wait", |nvim| nvim.text().contains("status=pending"));
    chat.nvim.command("call search('toolu_1') | messages clear");
    chat.nvim.input("gK");
    let words = "the change of this call is not known yet: the file system of";
    chat.nvim.wait_for("the answer", |nvim| said(nvim).contains(words));
}

#[test]
fn a_second_key_is_told_that_this_call_was_decided() {
    let share = Share::new();
    let input = json!({ "path": share.path().join("a.txt"), "content": "new\n" });
    let mut chat = share.chat("", [call("toolu_1", "write", &input), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("+new");
    share.hangs();
    chat.nvim.lua("require('flemma.view.approval_delay').delay = 1", &[]);
    chat.nvim.input("gA");
    chat.nvim.lua("require('flemma.view.approval_delay').delay = 1e9", &[]);
    for key in ["gA", "gX"] {
        chat.nvim.command("messages clear");
        chat.nvim.input(key);
        let words = "(toolu_1): this call was decided within the last second";
        chat.nvim.wait_for(key, |nvim| said(nvim).contains(words));
    }
    share.answers();
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
}

#[test]
fn files_that_are_read_are_said_to_be_read() {
    let share = Share::new();
    fs::write(share.path().join("pic.png"), BASE64_STANDARD.decode(BASE64).unwrap()).unwrap();
    let read = read(share.path().join("pic.png").to_str().unwrap());
    let options = "tools = { auto_approve = { 'read', '!read(SHARE/private/**)' } }";
    let mut chat = share.chat(options, [call("toolu_1", "read", &read), prose(&["white"]), prose(&["still"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nwhite"));
    chat.wait_until_idle();
    share.hangs();
    chat.nvim.input("Goand now?<Esc><C-]>");
    chat.nvim.wait_for_screen("reading the files that the conversation shows");
    share.answers();
    chat.nvim.wait_for("the next reply", |nvim| nvim.text().contains("@Assistant:\nstill"));
}

#[test]
fn a_list_of_what_waits_there_holds_up_nobody() {
    let share = Share::new();
    let mut chat = share.chat("", []);
    share.hangs();
    chat.nvim.command(&format!("Flemma pending {}", share.path().display()));
    assert_eq!(chat.nvim.lua("return vim.bo.filetype", &[]), "chat");
    assert_eq!(said(&mut chat.nvim), "");
    share.answers();
    chat.nvim.wait_for("the answer", |nvim| said(nvim).contains("no call waits"));
}

#[test]
fn ctrl_c_is_heard_while_the_disk_does_not_answer() {
    let share = Share::new();
    let mut chat = share.judging();
    chat.nvim.input("<C-c>");
    chat.nvim.wait_for("the key", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true);
    share.answers();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
}

/// What is not about the share is judged as ever.
#[test]
fn a_disk_that_does_not_answer_holds_up_no_other_call() {
    let share = Share::new();
    let options = "tools = { auto_approve = { 'read(./**)', 'read(SHARE/**)' } }";
    let calls = reply(
        &Stream::new()
            .tool_use("toolu_1", "read", &[&share.read().to_string()])
            .tool_use("toolu_2", "read", &[&read("b.txt").to_string()])
            .end("tool_use"),
    );
    let mut chat = share.chat(options, [calls, prose(&["fine"])]);
    share.hangs();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the other result", |nvim| nvim.text().contains("near"));
    assert!(chat.nvim.text().contains("status=pending"));
    chat.nvim.input(":qall!<CR>");
    chat.nvim.wait_for_exit();
}

/// The share that is gone is below the folder that the call names, so the call starts. It ends with its time, and the model is told.
#[test]
fn a_file_tool_that_gets_no_answer_ends_with_its_time() {
    let share = Share::new();
    let options = "tools = { auto_approve = { 'find' }, find = { timeout = 1 } }";
    let find = json!({ "pattern": "*.txt", "path": share.root() });
    let mut chat = share.chat(options, [call("toolu_1", "find", &find), prose(&["fine"])]);
    share.hangs();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let text = chat.nvim.text();
    assert!(text.contains("The file system did not answer within 1 second. No file was changed."), "{text}");
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), true);
}
