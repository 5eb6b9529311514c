//! A conversation that is opened again after a kill: what the journal acknowledged is there, and nothing happens twice.

use std::{
    cell::RefCell,
    fs,
    rc::Rc,
    time::{Duration, Instant},
};

use flemma_agent::Choice;
use flemma_workspace::{Command, Resolution};
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, bash, calls, commands, prose},
    scripts::text,
};
use crate::http::Reply;

/// Opens `notes.chat` again after a kill, and waits until it is known what the journal says.
fn reopen(chat: Harness, text: &str, options: Value, replies: impl IntoIterator<Item = Reply>) -> Harness {
    let chat = chat.kill(text, options, replies);
    register(&chat, false);
    open(chat)
}

fn open(chat: Harness) -> Harness {
    let buffer = chat.edit("notes.chat");
    chat.go_to(buffer);
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    chat.settle();
    chat
}

/// Registers `slow`, which never answers and counts its runs in a file, and `again`, which may run twice.
fn register(chat: &Harness, answers: bool) -> Rc<RefCell<Vec<String>>> {
    let runs = Rc::new(RefCell::new(Vec::new()));
    for (name, idempotent) in [("slow", false), ("again", true)] {
        let (runs, file) = (Rc::clone(&runs), chat.work("runs"));
        chat.register_with(name, json!({ "async": true, "idempotent": idempotent }), move |_, answer| {
            runs.borrow_mut().push(answer.tool().to_owned());
            let before = fs::read_to_string(&file).unwrap_or_default();
            fs::write(&file, before + answer.tool() + "\n").unwrap();
            if answers {
                answer.finish(text("done"));
            }
            None
        });
    }
    chat.define("ask", json!({ "executor": "human" }));
    runs
}

fn runs(chat: &Harness) -> usize {
    fs::read_to_string(chat.work("runs")).unwrap_or_default().lines().count()
}

/// The text of the journal; empty before there is one.
fn journal(chat: &Harness) -> String {
    let file = fs::read_dir(chat.state("journal")).ok().and_then(|mut files| files.next()?.ok());
    file.map_or_else(String::new, |file| fs::read_to_string(file.path()).unwrap())
}

/// From now on the journal cannot be written: no file can be made below this name.
fn block_journal(chat: &Harness) {
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(chat.current()));
    fs::write(chat.state("journal"), "in the way").unwrap();
}

/// Waits until the journal says that a call waits as if it had just come, after it has said so this often before.
fn wait_until_taken_back(chat: &Harness, before: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while journal(chat).matches("\"opened\"").count() <= before {
        assert!(Instant::now() < deadline, "nothing is taken back in\n{}", journal(chat));
        chat.drain_once();
    }
}

fn automatic() -> Value {
    json!({ "tools": { "auto_approve": ["slow", "again"] } })
}

/// A conversation in which this call is running.
fn running(tool: &str) -> Harness {
    let setup = Setup { options: automatic(), ..Setup::default() };
    let chat = Harness::start(setup, [calls([(tool, json!({}))]), prose("fine")]);
    register(&chat, false);
    chat.go();
    chat.drain_until("the tool", |chat| runs(chat) == 1);
    chat
}

#[test]
fn a_call_that_was_running_is_not_run_again() {
    let chat = running("slow");
    let saved = chat.text();
    let chat = reopen(chat, &saved, automatic(), [prose("fine")]);
    chat.drain_until("the question", |chat| chat.text().contains("status=pending"));
    assert!(chat.text().contains("Run it again?"), "{}", chat.text());
    chat.go();
    chat.settle();
    assert_eq!((runs(&chat), chat.sent()), (1, 0), "nobody was asked yet");
    chat.reject("status=pending", Some("no thanks"));
    chat.wait_for("@Assistant:\nfine");
    let told = &chat.results(0)[0];
    assert!(told.contains("it is not known whether it had an effect") && told.ends_with("no thanks"), "{told}");
    assert_eq!(runs(&chat), 1);
}

#[test]
fn the_user_may_run_it_again() {
    let chat = running("slow");
    let saved = chat.text();
    let chat = reopen(chat, &saved, automatic(), [prose("fine")]);
    chat.drain_until("the question", |chat| chat.text().contains("status=pending"));
    register(&chat, true);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(0), runs(&chat)), (vec!["done".to_owned()], 2));
}

#[test]
fn a_script_says_that_a_call_runs_again() {
    let chat = running("slow");
    let saved = chat.text();
    let chat = reopen(chat, &saved, automatic(), [prose("fine")]);
    chat.drain_until("the question", |chat| chat.text().contains("status=pending"));
    register(&chat, true);
    let problem = chat.resolve("call_0", Resolution::Approve).unwrap_err();
    assert!(problem.contains("it was started before and interrupted"), "{problem}");
    assert!(problem.ends_with("{ approved = true, again = true } approves another run"), "{problem}");
    assert_eq!((runs(&chat), chat.waiting()), (1, vec!["call_0 approval".to_owned()]));
    assert_eq!(chat.resolve("call_0", Resolution::ApproveAgain), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(runs(&chat), 2);
}

#[test]
fn a_file_that_is_older_than_the_start_asks_as_well() {
    // The file says that the call waits, or is approved; the journal says that it was started.
    let statuses = ["status=pending", "status=approved", "status=running"];
    for (status, key) in statuses.into_iter().flat_map(|status| ["approve", "execute", "go"].map(|key| (status, key))) {
        let chat = running("slow");
        let saved = chat.text().replace("status=running", status);
        assert!(saved.contains(status), "{saved}");
        let chat = chat.kill(&saved, automatic(), [prose("fine")]);
        register(&chat, true);
        let buffer = chat.edit("notes.chat");
        chat.go_to(buffer);
        // The user is fast: the question was not there yet.
        match key {
            "approve" => chat.approve(status),
            "execute" => chat.execute(status),
            _ => chat.go(),
        }
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        chat.settle();
        assert!(chat.text().contains("Run it again?"), "{status}: {}", chat.text());
        assert_eq!(runs(&chat), 1, "{status} {key}: approved before anybody could know");
        chat.approve("status=pending");
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(runs(&chat), 2, "{status}");
    }
}

#[test]
fn an_idempotent_call_runs_again_by_itself() {
    let chat = running("again");
    let saved = chat.text();
    let chat = chat.kill(&saved, automatic(), [prose("fine")]);
    register(&chat, true);
    let chat = open(chat);
    chat.drain_until("the second run", |chat| chat.text().contains("done\n```"));
    assert_eq!(runs(&chat), 2);
}

#[test]
fn a_result_that_the_file_lacks_is_restored() {
    let setup = || Setup { options: json!({ "tools": { "auto_approve": ["bash"] } }), ..Setup::default() };
    let chat = Harness::start(setup(), [commands(&["echo ran | tee -a runs"]), prose("fine")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    // The file was last written when the tool started.
    let (before, _) =
        chat.text().split_once("ran\n").map(|(before, rest)| (before.to_owned(), rest.to_owned())).unwrap();
    let before =
        before.trim_end_matches('\n').trim_end_matches('`').to_owned() + "```flemma:tool status=running\n```\n";
    let chat = reopen(chat, &before, setup().options, [prose("fine")]);
    chat.drain_until("the result", |chat| chat.text().contains("ran\n```"));
    assert_eq!((runs(&chat), chat.sent()), (1, 0), "restored, and nothing is sent by itself");
    chat.wait_for_words("bash (call_0): this call was resolved before, and its result was restored; nothing was run");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(0), runs(&chat)), (vec!["ran".to_owned()], 1));
}

#[test]
fn an_acknowledged_answer_survives_a_kill() {
    let chat = Harness::new("@You:\nHello", [calls([("ask", json!({ "question": "Why?" }))]), prose("fine")]);
    register(&chat, false);
    chat.go();
    chat.wait_for("kind=elicitation");
    let saved = chat.text();
    assert_eq!(chat.resolve("call_0", Resolution::Answer(json!("because"))), Ok(()));
    let chat = reopen(chat, &saved, Value::Null, [prose("fine")]);
    chat.drain_until("the answer", |chat| chat.text().contains("because\n```"));
    assert_eq!(chat.resolve("call_0", Resolution::Answer(json!("again"))), Err("stale".to_owned()));
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(0), ["because"]);
}

#[test]
fn waiting_goes_on_with_the_same_deadline() {
    let chat = Harness::new("@You:\nHello", [calls([("ask", json!({ "question": "Why?" }))])]);
    chat.host.clock.set(Some("2026-01-01T00:00:00Z".parse().unwrap()));
    register(&chat, false);
    chat.go();
    chat.wait_for("expires=2026-01-02T00:00:00Z");
    let mut chat = chat;
    // The clock goes back and forth.
    for now in ["2026-01-01T12:00:00Z", "2025-12-31T00:00:00Z", "2026-01-01T23:59:59Z", "2026-01-01T00:00:01Z"] {
        let saved = chat.text();
        chat.host.clock.set(Some(now.parse().unwrap()));
        chat = reopen(chat, &saved, Value::Null, []);
        assert_eq!(chat.text(), saved, "{now}");
        assert_eq!(chat.waiting(), ["call_0 elicitation"]);
    }
    let saved = chat.text();
    chat.host.clock.set(Some("2026-01-02T00:00:00Z".parse().unwrap()));
    let chat = reopen(chat, &saved, Value::Null, [prose("fine")]);
    chat.drain_until("the end", |chat| chat.text().contains("The user did not respond in time."));
    // Once it has expired it stays so, also in a file from before.
    chat.host.clock.set(Some("2026-01-01T00:00:00Z".parse().unwrap()));
    let chat = reopen(chat, &saved, Value::Null, [prose("fine")]);
    chat.drain_until("the end", |chat| chat.text().contains("The user did not respond in time."));
    assert_eq!(chat.text().matches("did not respond").count(), 1);
    assert_eq!(chat.resolve("call_0", Resolution::Answer(json!("late"))), Err("stale".to_owned()));
}

#[test]
fn a_decision_in_the_journal_counts_for_its_input_only() {
    for edited in [false, true] {
        // Only one runs at a time, so the second call is approved and has not started when the editor is killed.
        let options = json!({ "tools": { "max_concurrent": 1, "auto_approve": [] } });
        let setup = Setup { options: options.clone(), ..Setup::default() };
        let both = [("slow", json!({})), ("bash", bash("echo two >> runs"))];
        let chat = Harness::start(setup, [calls(both), prose("fine")]);
        register(&chat, false);
        chat.go();
        chat.wait_for_pending(2);
        let lines = 0..chat.buffer().lines().len();
        chat.press(flemma_workspace::Command::Decide { lines, choice: flemma_agent::Choice::Approve });
        chat.drain_until("the first call", |chat| runs(chat) == 1);
        let saved = chat.text();
        assert!(saved.contains("status=approved"), "{saved}");
        let saved = if edited { saved.replace("echo two", "echo three") } else { saved };
        let chat = reopen(chat, &saved, options, [prose("fine")]);
        chat.drain_until("the question", |chat| chat.text().contains("Run it again?"));
        assert_eq!(runs(&chat), 1, "opening a file runs nothing");
        chat.reject("Run it again?", Some("no"));
        chat.go();
        if edited {
            chat.drain_until("a warning", |chat| {
                chat.host.told.borrow().iter().any(|told| told.contains("you did not set `status=approved`"))
            });
            assert_eq!(runs(&chat), 1, "it was approved with another input");
        } else {
            chat.wait_for("@Assistant:\nfine");
            assert_eq!(runs(&chat), 2);
        }
    }
}

#[test]
fn words_in_a_file_authorise_nothing() {
    let statuses = [
        "status=approved",
        "status=running",
        "status=pending",
        "status=pending kind=client_exec executor=client",
        "status=approved kind=approval executor=server expires=2020-01-01T00:00:00Z",
        "status=running kind=client_exec",
        "status=APPROVED approved=true decided=user",
    ];
    for tool in ["bash", "pick", "again"] {
        for status in statuses {
            let chat = Harness::start(Setup::default(), [prose("fine")]);
            register(&chat, true);
            let ran = chat.work("runs");
            let file = ran.clone();
            chat.register_with("pick", json!({ "executor": "client" }), move |_, answer| {
                fs::write(&file, "pick\n").unwrap();
                answer.finish(text("picked"));
                None
            });
            chat.put(
                "strange.chat",
                format!(
                    "@You:\nHi\n\n@Assistant:\n**Tool Use:** `{tool}` (`a`)\n\n```json\n{}\n```\n\n@You:\n\
                     **Tool Result:** `a`\n\n```flemma:tool {status}\n```\n",
                    bash("touch runs")
                ),
            );
            let buffer = chat.edit("strange.chat");
            chat.go_to(buffer);
            chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
            chat.settle();
            assert_eq!(runs(&chat), 0, "{tool} {status}: opened");
            chat.go();
            chat.drain_until("the end", |chat| !chat.conversation().is_busy());
            assert!(!ran.exists(), "{tool} {status}: Ctrl-]");
        }
    }
}

#[test]
fn undo_neither_repeats_nor_forgets_a_call() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let setup = Setup { options, ..Setup::default() };
    let chat = Harness::start(setup, [commands(&["echo ran | tee -a runs"]), prose("fine"), prose("again")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    while chat.text().contains("Tool Result") {
        chat.undo();
    }
    assert!(chat.text().contains("Tool Use"), "{}", chat.text());
    chat.go();
    chat.wait_for("@Assistant:\nagain");
    assert_eq!((chat.results(2), runs(&chat)), (vec!["ran".to_owned()], 1));
}

#[test]
fn an_undone_call_is_restored_by_every_key() {
    type Press = fn(&Harness);
    let presses: [(&str, Press); 4] = [
        ("Ctrl-]", |chat| chat.go()),
        ("Alt-Enter", |chat| chat.execute("Tool Use")),
        ("approve", |chat| chat.approve("Tool Use")),
        ("reject", |chat| chat.reject("Tool Use", Some("no"))),
    ];
    for (key, press) in presses {
        let chat = Harness::new("@You:\nHello", [commands(&["echo ran | tee -a runs"]), prose("fine"), prose("again")]);
        chat.go();
        chat.wait_for_pending(1);
        chat.execute("status=pending");
        chat.wait_for("@Assistant:\nfine");
        while chat.text().contains("ran\n```") {
            chat.undo();
        }
        assert_eq!(chat.resolve("call_0", Resolution::Approve), Err("stale".to_owned()), "{key}");
        press(&chat);
        chat.drain_until("the result", |chat| chat.text().contains("ran\n```") && !chat.conversation().is_busy());
        assert_eq!(runs(&chat), 1, "{key}");
    }
}

#[test]
fn an_undone_answer_is_restored_without_a_form() {
    let both = [("ask", json!({ "question": "Why?" })), ("bash", bash("true"))];
    let chat = Harness::new("@You:\nHello", [calls(both)]);
    register(&chat, false);
    chat.go();
    chat.wait_for("kind=elicitation");
    assert_eq!(chat.resolve("call_0", Resolution::Answer(json!("because"))), Ok(()));
    chat.undo();
    assert!(!chat.text().contains("because"));
    chat.told();
    chat.execute("kind=elicitation");
    assert!(chat.text().contains("because\n```") && chat.host.forms.borrow().is_empty());
    let restored = "info: ask (call_0): this question was resolved before, and its result was restored";
    assert_eq!(chat.told(), [restored]);
}

#[test]
fn an_undone_rejection_is_restored_and_speaks_of_no_run() {
    let chat = Harness::new("@You:\nHello", [calls([("bash", bash("true")), ("bash", bash("false"))])]);
    chat.go();
    chat.wait_for("status=pending");
    assert_eq!(chat.resolve("call_0", Resolution::Reject(Some("not now".to_owned()))), Ok(()));
    chat.undo();
    assert!(!chat.text().contains("not now"));
    chat.told();
    chat.execute("`call_0`)");
    assert!(chat.text().contains("not now"), "{}", chat.text());
    assert_eq!(
        chat.told(),
        ["info: bash (call_0): this call was resolved before, and its result was restored; nothing was run"]
    );
}

#[test]
#[ignore = "slow"]
fn a_long_journal_is_shortened() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let setup = Setup { options: options.clone(), ..Setup::default() };
    let big = |n: u32| commands(&[&format!("head -c {} /dev/zero | tr '\\0' x", 40_000 + n)]);
    let replies = (0..30).map(big).chain([prose("fine")]);
    let chat = Harness::start(setup, replies);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let journal = chat.state("journal");
    let size = move || fs::read_dir(&journal).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>();
    assert!(size() > 1_000_000, "{}", size());
    // The conversation was begun again, so none of those calls is left.
    let chat = reopen(chat, "@You:\nHello again\n", options, [prose("ok")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    chat.drain_until("a short journal", |_| size() < 1_000);
}

#[test]
fn a_reused_id_is_another_call() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let setup = Setup { options, ..Setup::default() };
    let same = || commands(&["echo ran | tee -a runs"]);
    let chat = Harness::start(setup, [same(), same(), prose("fine")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(runs(&chat), 2, "the second call has the id and the input of the first");
}

#[test]
fn a_stop_before_the_record_is_written_holds() {
    let chat = Harness::new("@You:\nHello", [commands(&["touch ran"]), prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    for by_hand in [false, true] {
        if by_hand {
            chat.replace("status=pending", "status=approved");
            chat.workspace.dispatch(chat.current(), Command::Advance);
        } else {
            let line = chat.line_with("status=pending");
            let decide = Command::Decide { lines: line..line + 1, choice: Choice::Approve };
            chat.workspace.dispatch(chat.current(), decide);
        }
        chat.workspace.dispatch(chat.current(), Command::Cancel);
        chat.settle();
        let approvals = 1 + usize::from(by_hand);
        while journal(&chat).matches("\"approved\"").count() < approvals {
            std::thread::yield_now();
        }
        // It is heard of, and taken back.
        wait_until_taken_back(&chat, approvals);
        assert!(!chat.work("ran").exists() && !chat.conversation().is_busy(), "by hand: {by_hand}");
    }
}

#[test]
fn a_call_stopped_before_it_started_is_not_interrupted() {
    for by_hand in [false, true] {
        let chat = Harness::new("@You:\nHello", [commands(&["touch ran"]), prose("fine")]);
        chat.go();
        chat.wait_for_pending(1);
        let saved = chat.text();
        if by_hand {
            chat.replace("status=pending", "status=approved");
            chat.workspace.dispatch(chat.current(), Command::Advance);
        } else {
            let line = chat.line_with("status=pending");
            chat.workspace.dispatch(chat.current(), Command::Execute { line });
        }
        chat.workspace.dispatch(chat.current(), Command::Cancel);
        chat.settle();
        wait_until_taken_back(&chat, 1);
        let chat = chat.kill(&saved, Value::Null, [prose("fine")]);
        let buffer = chat.edit("notes.chat");
        chat.go_to(buffer);
        chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
        assert!(!chat.text().contains("interrupted"), "by hand: {by_hand}\n{}", chat.text());
        chat.go();
        assert!(!chat.text().contains("interrupted") && !chat.work("ran").exists(), "by hand: {by_hand}");
        assert_eq!(chat.waiting(), ["call_0 approval"]);
    }
}

#[test]
fn an_approval_of_a_call_edited_meanwhile_is_taken_back() {
    let chat = Harness::new("@You:\nHello", [commands(&["touch ran"]), prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    let line = chat.line_with("status=pending");
    chat.workspace.dispatch(chat.current(), Command::Execute { line });
    chat.replace("touch ran", "touch other");
    wait_until_taken_back(&chat, 1);
    assert!(!chat.work("ran").exists() && !chat.work("other").exists());
    assert_eq!(chat.waiting(), ["call_0 approval"]);
}

#[test]
fn what_cannot_be_recorded_does_not_happen() {
    let chat = Harness::new("@You:\nHello", [commands(&["touch ran"]), prose("fine")]);
    block_journal(&chat);
    chat.go();
    chat.wait_for_pending(1);
    let problem = chat.resolve("call_0", Resolution::Approve).unwrap_err();
    assert!(problem.contains("could not be recorded"), "{problem}");
    assert_eq!(chat.waiting(), ["call_0 approval"]);
    chat.approve("status=pending");
    chat.wait_for_words("could not be recorded");
    assert_eq!((chat.waiting(), chat.work("ran").exists()), (vec!["call_0 approval".to_owned()], false));
    // With room, the same key works.
    fs::remove_file(chat.state("journal")).unwrap();
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.work("ran").exists());
}

#[test]
fn a_start_that_cannot_be_recorded_does_not_happen() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let setup = Setup { options, ..Setup::default() };
    let chat = Harness::start(setup, [commands(&["touch ran"]), prose("fine")]);
    block_journal(&chat);
    chat.go();
    chat.wait_for_words("could not be recorded");
    chat.drain_until("the end", |chat| !chat.conversation().is_busy());
    assert_eq!((chat.waiting(), chat.work("ran").exists()), (vec!["call_0 approval".to_owned()], false));
    assert_eq!(chat.sent(), 1);
}
