//! A conversation that another process, or another buffer, holds.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    time::{Duration, Instant},
};

use flemma_runtime::holder::{BufferLocks, Hold};
use flemma_workspace::{Command, ports::Question};
use serde_json::json;

use super::harness::{Harness, NOTES, Setup, bash, held, prose};
use crate::{
    http::Gate,
    other_holder::{Other, hold},
};

/// A conversation with a call that waits.
fn waiting() -> String {
    format!(
        "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n\
         ```flemma:tool status=pending\n```\n",
        bash("echo hi")
    )
}

fn other(chat: &Harness, name: &str) -> Other {
    Other::hold(&chat.state("locks"), &chat.work(name))
}

/// Whether this process holds a conversation, by the lock that every other process meets.
fn is_held(chat: &Harness, name: &str) -> bool {
    match hold(&chat.state("another"), &chat.work(name)) {
        Hold::Ours(_) => false,
        Hold::Theirs(owner) => owner.is_some_and(|owner| owner.process == std::process::id()),
    }
}

/// Waits for something that wakes nobody.
pub(super) fn wait_until(chat: &Harness, what: &str, condition: impl Fn(&Harness) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    chat.drain_until(what, |chat| {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::yield_now();
        chat.host.wake();
        condition(chat)
    });
}

fn wait_until_observed(chat: &Harness) {
    chat.drain_until("a read-only buffer", |chat| chat.buffer().is_observed.get());
}

fn wait_until_taken_over(chat: &Harness) {
    chat.drain_until("a buffer that can be changed", |chat| !chat.buffer().is_observed.get());
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
fn a_key_that_waits_for_the_disk_is_no_rest() {
    let chat = Harness::new("@You:\nSee @../near/a.txt", [prose("ok")]);
    chat.put("../near/a.txt", "A file of another folder.");
    let is_at_rest = |chat: &Harness| chat.workspace.is_at_rest(chat.current());
    let is_settled = |chat: &Harness| chat.workspace.is_settled(chat.current());
    assert!(is_at_rest(&chat) && !is_settled(&chat));
    chat.go();
    assert!(!is_at_rest(&chat), "the lock and the journal are not there yet");
    chat.wait_for_question();
    assert!(is_at_rest(&chat), "the user is asked");
    chat.answer(false);
    chat.go();
    assert!(!is_at_rest(&chat), "it is not known yet where the file leads");
    chat.wait_for_question();
    chat.answer(true);
    chat.wait_for("@Assistant:\nok");
    chat.drain_until("rest", is_at_rest);
}

#[test]
fn a_key_that_sends_locks_the_text_at_once() {
    let chat = Harness::new("@You:\nHello", [prose("ok")]);
    chat.workspace.dispatch(chat.current(), Command::Advance);
    assert!(!chat.conversation().is_busy(), "the lock and the journal are not there yet");
    assert!(chat.buffer().is_locked.get());
    chat.workspace.dispatch(chat.current(), Command::Cancel);
    assert!(!chat.buffer().is_locked.get(), "nothing is sent");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(!chat.buffer().is_locked.get());
}

#[test]
fn a_key_before_the_lock_is_known_is_refused_with_it() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("shared.chat", waiting());
    let other = other(&chat, "shared.chat");
    chat.edit("shared.chat");
    chat.go();
    wait_until_observed(&chat);
    let refusal = format!(
        "warn: shared.chat is open in another Neovim ({}). It is read-only here until that editor closes it.",
        other.owner()
    );
    assert_eq!(chat.told(), [refusal.as_str()]);
    // There is no call in this line.
    chat.execute("Hello");
    assert_eq!(chat.told(), [refusal]);
    assert_eq!((chat.text() + "\n", chat.sent(), chat.questions()), (waiting(), 0, 0));
}

#[test]
fn a_call_that_runs_elsewhere_is_said_to_run_there() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("shared.chat", waiting().replace("status=pending", "status=running"));
    let other = other(&chat, "shared.chat");
    chat.edit("shared.chat");
    let said = |chat: &Harness| chat.workspace.views.previews(&chat.conversation(), 200, 0).0[0].text.clone();
    assert_eq!(said(&chat), "bash: it is being found out whether this call runs in another Neovim");
    wait_until_observed(&chat);
    assert_eq!(said(&chat), format!("bash: this call runs in another Neovim ({})", other.owner()));
    drop(other);
    chat.drain_until("the end", |chat| said(chat).contains("this call is no longer running"));
}

#[test]
fn a_file_that_changed_before_its_lock_is_read_again() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("shared.chat", waiting());
    let buffer = chat.edit("shared.chat");
    // Somebody else had the lock until then.
    let finished = waiting().replace("```flemma:tool status=pending\n```", "```\nhi\n```\n\n@Assistant:\nfine");
    chat.put("shared.chat", &finished);
    chat.execute("status=pending");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    assert_eq!((chat.text() + "\n", chat.sent(), is_held(&chat, "shared.chat")), (finished, 0, true));
}

#[test]
fn another_name_decides_anew_who_holds_the_conversation() {
    let gate = Gate::new();
    let chat = Harness::new("@You:\nHello", [prose("ok"), held("first", &gate, " rest")]);
    chat.put("shared.chat", "@You:\nHello\n");
    let other = other(&chat, "shared.chat");
    chat.edit("shared.chat");
    wait_until_observed(&chat);
    // An observer goes on with a copy.
    chat.save_as("own.chat");
    wait_until_taken_over(&chat);
    assert!(is_held(&chat, "own.chat"));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    // A holder takes the name of a file that is held: what is going on ends.
    chat.type_below("More");
    chat.go();
    chat.drain_until("the reply", |chat| chat.text().contains("first"));
    *chat.buffer().file.borrow_mut() = chat.work("shared.chat").to_str().unwrap().to_owned();
    chat.workspace.renamed(chat.current());
    wait_until_observed(&chat);
    chat.drain_until("the end", |chat| !chat.conversation().is_busy());
    assert!(chat.text().contains("first\n\n<!-- flemma:aborted -->"), "{}", chat.text());
    wait_until(&chat, "the old name to be free", |chat| !is_held(chat, "own.chat"));
    drop(other);
    wait_until_taken_over(&chat);
}

#[test]
fn of_two_buffers_with_one_file_the_first_one_holds_it() {
    let chat = Harness::new("@You:\nHello", []);
    std::os::unix::fs::symlink("notes.chat", chat.work("link.chat")).unwrap();
    wait_until(&chat, "the first buffer", |chat| is_held(chat, "notes.chat"));
    chat.edit("link.chat");
    chat.wait_for_words(
        "link.chat is open in another buffer of this Neovim. It is read-only here until that buffer is closed.",
    );
    chat.status_has("read-only: open in another buffer of this Neovim");
    let second = chat.current();
    chat.go_to(NOTES);
    assert!(!chat.buffer().is_observed.get());
    chat.go_to(second);
    chat.wipe(NOTES);
    chat.wait_for_words("link.chat can be edited here now: nobody else has it open.");
}

#[test]
fn a_conversation_that_is_opened_anew_goes_on_with_its_lock() {
    let chat = Harness::new("@You:\nHello", [prose("ok"), prose("fine")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    let lock = chat.work(".notes.chat.flemma-lock");
    let inode = fs::metadata(&lock).unwrap().ino();
    for _ in 0..5 {
        // `:edit!`, several times before the main thread hears of anything.
        chat.workspace.attach(chat.current());
        while chat.workspace.parse_on(chat.current()) {}
    }
    chat.type_below("More");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.told(), Vec::<String>::new());
    assert_eq!(fs::metadata(&lock).unwrap().ino(), inode, "nobody else could get in between");
    assert!(is_held(&chat, "notes.chat"));
    // `:bwipeout` with `:edit` in one mapping: this is another buffer.
    chat.wipe(chat.current());
    chat.edit("notes.chat");
    chat.server.push(prose("again"));
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    assert_eq!(chat.told(), Vec::<String>::new());
}

#[test]
fn a_buffer_opened_anew_while_its_lock_is_taken_holds_it() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("other.chat", "@You:\nHello\n");
    chat.edit("other.chat");
    let lock = chat.work(".other.chat.flemma-lock");
    // As Neovim does when it recovers a swap file; and nobody hears of anything while it waits for Enter.
    for _ in 0..3 {
        while !lock.exists() {
            std::thread::yield_now();
        }
        chat.workspace.attach(chat.current());
        while chat.workspace.parse_on(chat.current()) {}
    }
    // Longer than a lock is tried.
    std::thread::sleep(Duration::from_millis(400));
    chat.server.push(prose("ok"));
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.told(), Vec::<String>::new());
    assert!(is_held(&chat, "other.chat"));
    chat.wipe(chat.current());
    wait_until(&chat, "the lock to go", |_| !lock.exists());
}

#[test]
fn buffers_that_are_opened_anew_together_have_one_holder() {
    let chat = Harness::new("@You:\nHello", [prose("ok")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    std::os::unix::fs::symlink("notes.chat", chat.work("link.chat")).unwrap();
    let second = chat.edit("link.chat");
    wait_until_observed(&chat);
    // `:bufdo edit!`. Neovim makes a buffer that is read again writable.
    for buffer in [NOTES, second, NOTES, second] {
        chat.host.buffer(buffer).is_observed.set(false);
        chat.workspace.attach(buffer);
        while chat.workspace.parse_on(buffer) {}
    }
    wait_until_observed(&chat);
    chat.go_to(NOTES);
    assert!(!chat.buffer().is_observed.get());
    chat.server.push(prose("again"));
    chat.type_below("More");
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    let told = chat.told().into_iter().filter(|told| told.contains("is open in another buffer")).count();
    assert_eq!(told, 1, "it is mentioned once");
}

#[test]
fn locks_are_given_back_on_closing_and_on_leaving() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("other.chat", "@You:\n");
    let other = chat.edit("other.chat");
    wait_until(&chat, "the locks", |chat| is_held(chat, "other.chat") && is_held(chat, "notes.chat"));
    chat.go_to(NOTES);
    chat.wipe(other);
    wait_until(&chat, "the lock to go", |chat| !chat.work(".other.chat.flemma-lock").exists());
    assert!(chat.work(".notes.chat.flemma-lock").exists());
    // `:wq`: nobody hears any more of what the write has started.
    chat.write();
    chat.workspace.shut_down();
    assert!(!chat.work(".notes.chat.flemma-lock").exists());
    assert_eq!(fs::read_dir(chat.state("locks")).unwrap().count(), 0);
}

#[test]
fn writing_brings_back_a_lock_that_is_gone() {
    let chat = Harness::new("@You:\nHello", []);
    // Its folder is made only when it is written.
    chat.edit("later/new.chat");
    wait_until(&chat, "the lock in the state folder", |chat| {
        fs::read_dir(chat.state("locks")).is_ok_and(|locks| locks.count() == 2)
    });
    let lock = chat.work("later/.new.chat.flemma-lock");
    // Whether or not the main thread has heard of that lock.
    chat.write();
    wait_until(&chat, "the lock", |_| lock.exists());
    // Somebody deletes everything beside it.
    fs::remove_dir_all(chat.work("later")).unwrap();
    chat.write();
    wait_until(&chat, "the lock again", |_| lock.exists());
    wait_until(&chat, "its owner", |chat| is_held(chat, "later/new.chat"));
    assert!(chat.told().is_empty());
    chat.wipe(chat.current());
    chat.go_to(NOTES);
    wait_until(&chat, "the lock to go", |_| !lock.exists());
}

#[test]
fn an_answer_counts_only_where_the_conversation_is_held() {
    let text = "```json\n{ \"tools\": { \"auto_approve\": [\"bash\"] } }\n```\n\n@You:\nHello\n";
    let chat = Harness::start(Setup { options: json!({}), ..Setup::default() }, []);
    chat.put("mine.chat", text);
    chat.put("shared.chat", text);
    let _other = other(&chat, "shared.chat");
    chat.edit("mine.chat");
    chat.go();
    assert!(matches!(chat.wait_for_question(), Question::Frontmatter { .. }));
    *chat.buffer().file.borrow_mut() = chat.work("shared.chat").to_str().unwrap().to_owned();
    chat.workspace.renamed(chat.current());
    wait_until_observed(&chat);
    chat.answer(true);
    assert_eq!(chat.sent(), 0);
    let trusted = fs::read_to_string(chat.state("trust.jsonl")).unwrap_or_default();
    assert!(!trusted.contains("shared.chat"), "{trusted}");
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

#[test]
fn a_holder_that_is_taken_over_becomes_an_observer() {
    let chat = Harness::new("@You:\nHello", []);
    chat.put("shared.chat", waiting());
    chat.edit("shared.chat");
    wait_until(&chat, "the lock", |chat| is_held(chat, "shared.chat"));
    chat.told();
    let stolen = BufferLocks::default().steal(&chat.state("locks"), &chat.work("shared.chat")).unwrap();
    // Whatever it does first, nothing lands.
    chat.execute("Tool Result");
    wait_until_observed(&chat);
    wait_until(&chat, "the message", |chat| {
        chat.host.told.borrow().iter().any(|told| told.contains("shared.chat was taken over by"))
    });
    assert_eq!(fs::read_to_string(chat.work("shared.chat")).unwrap(), waiting());
    chat.execute("Tool Result");
    assert!(!chat.text().contains("```\nhi\n```"), "nothing runs");
    let told = chat.told();
    assert!(told.last().unwrap().contains("is open"), "{told:?}");
    chat.put("shared.chat", "@You:\nTheirs\n");
    drop(stolen);
    wait_until_taken_over(&chat);
    assert!(is_held(&chat, "shared.chat"));
}

/// The lock is taken and given back away from the main thread.
#[test]
#[ignore = "slow"]
fn an_exit_leaves_no_lock_that_is_taken_or_given_back() {
    let names = |chat: &Harness| {
        let folders = [chat.state("locks"), chat.work("")];
        let names = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("path-") || name.ends_with("-lock")).collect::<Vec<_>>()
    };
    for round in 0..60 {
        let chat = Harness::new("@You:\nHello", []);
        let buffer = chat.current();
        if round % 3 > 0 {
            chat.drain_until("the lock", |chat| chat.workspace.ownership.holder(buffer).is_some());
        }
        if round % 3 > 1 {
            chat.workspace.detach(buffer);
            chat.drain_once();
        } else {
            std::thread::sleep(Duration::from_micros(round * 10));
        }
        chat.workspace.shut_down();
        let (at_once, later) = (names(&chat), Instant::now() + Duration::from_millis(5));
        std::thread::sleep(later.saturating_duration_since(Instant::now()));
        assert_eq!((at_once, names(&chat)), (Vec::new(), Vec::new()), "{round}");
    }
}
