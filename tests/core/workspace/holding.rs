//! A conversation that another process has open as well.

use std::{
    env, fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use flemma::{
    runtime::holder::{Hold, hold},
    workspace::ports::Question,
};

use super::harness::{Harness, bash, commands, prose};

/// What the child process is told: the folder of the locks, and the conversation.
const TOLD: [&str; 2] = ["FLEMMA_TEST_LOCKS", "FLEMMA_TEST_CONVERSATION"];

/// Another process that holds a conversation, until it is dropped.
struct Other {
    child: Child,
    // It ends when this is closed.
    _ends: ChildStdin,
}

impl Other {
    fn hold(locks: &Path, file: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "workspace::holding::another_process", "--ignored", "--nocapture"])
            .env(TOLD[0], locks)
            .env(TOLD[1], file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ends = child.stdin.take().unwrap();
        wait_for_word(child.stdout.as_mut().unwrap(), "holding");
        Self { child, _ends: ends }
    }

    fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for_word(from: &mut ChildStdout, word: &str) {
    let mut heard = String::new();
    let mut byte = [0];
    while !heard.contains(word) {
        assert_eq!(from.read(&mut byte).unwrap(), 1, "the other process ended: {heard}");
        heard.push(char::from(byte[0]));
    }
}

/// What the other process does. As a test of its own it has nothing to do.
#[test]
#[ignore = "the other process of the tests in this file"]
fn another_process() {
    let (Some(locks), Some(file)) = (env::var_os(TOLD[0]), env::var_os(TOLD[1])) else { return };
    let held = hold(&PathBuf::from(locks), &PathBuf::from(file)).unwrap();
    assert!(matches!(held, Hold::Ours(_)), "{held:?}");
    println!("holding");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Whether this process holds a conversation.
fn is_held(chat: &Harness, name: &str) -> bool {
    let held = hold(&chat.state("open"), &chat.work(name)).unwrap();
    matches!(held, Hold::Theirs(Some(process)) if process == std::process::id())
}

#[test]
fn a_copy_leaves_the_conversation_held() {
    let chat = Harness::new("@You:\nHello", [prose("ok")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(is_held(&chat, "notes.chat"));
    chat.write_to("copy.chat");
    chat.type_below("More");
    chat.go();
    assert!(is_held(&chat, "notes.chat"), "`:write copy.chat` is about another file");
    assert!(!is_held(&chat, "copy.chat"));
}

#[test]
fn a_second_process_asks_before_it_sends_or_runs() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("shared.chat", "@You:\nHello\n");
    let other = Other::hold(&chat.state("open"), &chat.work("shared.chat"));
    chat.edit("shared.chat");
    chat.wait_for_words("shared.chat is also open in another Neovim (process");
    let question = Question::Holder { process: Some(other.process()) };
    chat.go();
    assert_eq!(chat.wait_for_question(), question);
    chat.answer(false);
    assert_eq!((chat.sent(), chat.questions()), (0, 1), "the user said no");
    chat.server.push(commands(&["echo hi"]));
    chat.go();
    assert_eq!(chat.wait_for_question(), question);
    chat.answer(true);
    // The answer holds for the session.
    chat.wait_for_pending(1);
    chat.server.push(prose("fine"));
    chat.approve("Tool Result");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(1), chat.questions()), (vec!["hi".to_owned()], 2));
    let told = chat.told().into_iter().filter(|told| told.contains("open in another Neovim")).count();
    assert_eq!(told, 1, "it is mentioned once");
}

#[test]
fn a_process_that_has_ended_holds_nothing() {
    let text = format!(
        "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n\
         ```flemma:tool status=pending\n```\n",
        bash("echo hi")
    );
    let chat = Harness::new("@You:\nHello", [prose("fine")]);
    chat.put("shared.chat", &text);
    let other = Other::hold(&chat.state("open"), &chat.work("shared.chat"));
    chat.edit("shared.chat");
    chat.execute("Tool Result");
    chat.wait_for_question();
    chat.answer(false);
    assert!(chat.text().contains("status=pending"), "{}", chat.text());
    drop(other);
    chat.execute("Tool Result");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(0), chat.questions()), (vec!["hi".to_owned()], 1));
    assert!(is_held(&chat, "shared.chat"));
}

#[test]
fn every_name_of_a_file_is_held_with_it() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("shared.chat", "@You:\nHello\n");
    std::os::unix::fs::symlink("shared.chat", chat.work("link.chat")).unwrap();
    fs::hard_link(chat.work("shared.chat"), chat.work("twin.chat")).unwrap();
    let _other = Other::hold(&chat.state("open"), &chat.work("shared.chat"));
    for name in ["link.chat", "twin.chat"] {
        chat.edit(name);
        chat.wait_for_words(&format!("{name} is also open in another Neovim"));
        chat.go();
        assert!(matches!(chat.wait_for_question(), Question::Holder { .. }), "{name}");
    }
    assert_eq!(chat.sent(), 0);
}

#[test]
fn ctrl_c_takes_back_what_waits_for_the_lock() {
    let chat = Harness::new("@You:\nHello", [prose("ok")]);
    chat.go();
    chat.stop();
    chat.put("other.chat", "@You:\nHello\n");
    chat.edit("other.chat");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.sent(), 1, "only the other conversation was sent");
}
