//! Calls that are cancelled, or left by an exit, at any moment of their write.
//!
//! What holds in all of them: a call that is told as cancelled has changed nothing, and a call that has changed something has a
//! result of its tool.

use std::{thread, time::Duration};

use flemma_workspace::Command;
use serde_json::json;

use super::{
    harness::{Harness, Setup, calls, prose},
    review::write,
};

const CANCELLED: &str = "The user cancelled this call";
const OLD: &str = "old\n";

/// The moments at which the user cancels.
fn moments() -> impl Iterator<Item = Duration> {
    (0..40).map(|n| Duration::from_micros(n * 150))
}

/// A call that writes `a.txt` runs, and has done so for a while.
fn begun(after: Duration) -> (Harness, String) {
    let new = "new\n".repeat(40_000);
    let options = json!({ "tools": { "auto_approve": ["write"] } });
    let setup = Setup { options, files: &[("a.txt", OLD)], ..Setup::default() };
    let next = calls([("write", write("b.txt", "later\n"))]);
    let chat = Harness::start(setup, [calls([("write", write("a.txt", &new))]), next, prose("fine")]);
    chat.go();
    // On a busy machine it may be over, and the next one there, before anything is seen of it.
    chat.drain_until("the call", |chat| ["status=running", "b.txt"].iter().any(|sign| chat.text().contains(sign)));
    thread::sleep(after);
    (chat, new)
}

/// Whether the file is what the call's result says.
#[track_caller]
fn check(chat: &Harness, new: &str) {
    let text = chat.text();
    let result = text.split("**Tool Result:** `call_0`").nth(1).expect("a result");
    let is_cancelled = result.contains(CANCELLED) || result.contains("nothing was written");
    let wanted = if is_cancelled { OLD } else { new };
    assert!(chat.content("a.txt") == wanted, "the file is not as the result says: {result}");
}

#[test]
#[ignore = "slow"]
fn a_cancelled_call_says_what_became_of_the_file() {
    for moment in moments() {
        let (chat, new) = begun(moment);
        chat.stop();
        chat.drain_until("rest", |chat| !chat.conversation().is_busy());
        assert!(!chat.text().contains("status=running"));
        // Calls that write take turns: after the next one, nothing more comes of the first.
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        check(&chat, &new);
    }
}

#[test]
#[ignore = "slow"]
fn a_call_that_an_exit_ends_says_what_became_of_the_file() {
    for moment in moments() {
        let (chat, new) = begun(moment);
        chat.workspace.wind_up();
        assert!(!chat.text().contains("status=running"), "{}", &chat.text()[..400]);
        check(&chat, &new);
    }
}

#[test]
fn one_cancelled_call_lets_the_model_go_on() {
    let (chat, new) = begun(Duration::ZERO);
    chat.press(Command::CancelTool { line: chat.line_with("status=running") });
    chat.wait_for("@Assistant:\nfine");
    check(&chat, &new);
    assert_eq!(chat.content("b.txt"), "later\n");
}
