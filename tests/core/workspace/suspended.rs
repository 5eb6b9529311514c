//! Calls that wait for the user's answer or for the editor, and the one way to resolve them.

use std::{cell::Cell, rc::Rc};

use flemma_workspace::Resolution;
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, bash, calls, held, prose},
    scripts::text,
};
use crate::http::Gate;

/// A conversation with these calls, in which `ask` and `form` ask the user, and `pick` runs in the editor.
fn asked<'a>(options: Value, all: impl IntoIterator<Item = (&'a str, Value)>) -> Harness {
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls(all), prose("fine")]);
    chat.define("ask", json!({ "executor": "human" }));
    let port = json!({ "type": "object", "required": ["port"], "properties": { "port": { "type": "integer" } } });
    chat.define("form", json!({ "executor": "human", "result_schema": port }));
    chat.go();
    chat
}

fn question(words: &str) -> Value {
    json!({ "question": words })
}

fn answer(value: Value) -> Resolution {
    Resolution::Answer(value)
}

fn stale<T>() -> Result<T, String> {
    Err("stale".to_owned())
}

#[test]
fn an_answer_is_the_result() {
    let chat = asked(Value::Null, [("ask", question("Which port?"))]);
    chat.wait_for("kind=elicitation executor=human");
    assert!(chat.text().contains("question=\"Which port?\""), "{}", chat.text());
    assert!(!chat.buffer().is_locked.get(), "the user may type meanwhile");
    assert_eq!(chat.waiting(), ["call_0 elicitation"]);
    assert_eq!(chat.resolve("call_0", answer(json!("8080"))), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["8080"]);
    assert_eq!((chat.resolve("call_0", answer(json!("81"))), chat.waiting().len()), (stale(), 0));
    assert_eq!(chat.sent(), 2);
}

#[test]
fn a_question_is_answered_in_its_block() {
    let chat = asked(Value::Null, [("ask", question("Which port?"))]);
    chat.wait_for("kind=elicitation");
    chat.type_at(chat.line_with("kind=elicitation") + 1, "8080");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["8080"]);
    assert!(!chat.told().iter().any(|told| told.contains("did not run")), "that is what the block is for");
}

#[test]
fn the_text_in_a_block_is_answered_with_by_its_own_key() {
    let chat = asked(Value::Null, [("ask", question("Which port?"))]);
    chat.wait_for("kind=elicitation");
    chat.type_at(chat.line_with("kind=elicitation") + 1, "8080");
    chat.told();
    chat.execute("kind=elicitation");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(1), chat.text().matches("8080").count()), (vec!["8080".to_owned()], 1));
    assert_eq!(chat.told(), [] as [&str; 0]);
}

#[test]
fn a_question_is_not_approved() {
    let chat = asked(Value::Null, [("ask", question("Which port?"))]);
    chat.wait_for("kind=elicitation");
    chat.told();
    chat.approve("kind=elicitation");
    assert!(chat.told()[0].contains("asks you a question"));
    assert_eq!(chat.resolve("call_0", Resolution::Approve), stale());
    chat.execute("kind=elicitation");
    assert_eq!(*chat.host.forms.borrow(), ["call_0"]);
    assert_eq!(chat.waiting(), ["call_0 elicitation"]);
    // Writing `approved` by hand is a mistake that is shown, and nothing goes on.
    chat.replace("status=pending", "status=approved");
    chat.go();
    let told = chat.told();
    assert!(told.iter().any(|told| told.contains("does not answer a question")), "{told:?}");
    chat.replace("status=approved", "status=pending");
    // The user may decline.
    chat.reject("kind=elicitation", None);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: The user declined to answer."]);
}

#[test]
fn an_answer_has_to_match_its_schema() {
    let chat = asked(Value::Null, [("form", json!({}))]);
    chat.wait_for("kind=elicitation");
    let problem = chat.resolve("call_0", answer(json!({ "port": "x" }))).unwrap_err();
    assert!(problem.contains("`/port`: expected integer, got the string \"x\""), "{problem}");
    chat.type_at(chat.line_with("kind=elicitation") + 1, "{ \"port\": true }");
    chat.go();
    assert!(chat.told().iter().any(|told| told.contains("your answer is not sent")));
    assert_eq!(chat.waiting(), ["call_0 elicitation"]);
    chat.replace("\"port\": true", "\"port\": 80");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["{\"port\":80}"]);
}

#[test]
fn a_mixed_turn_makes_one_request() {
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let all = [("bash", bash("echo one")), ("ask", question("Why?")), ("bash", bash("echo two"))];
    let chat = asked(options, all);
    chat.drain_until("both commands", |chat| {
        chat.text().contains("one\n```") && chat.text().contains("two\n```") && !chat.conversation().is_busy()
    });
    assert_eq!((chat.waiting(), chat.sent()), (vec!["call_1 elicitation".to_owned()], 1));
    assert_eq!(chat.resolve("call_1", answer(json!("because"))), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["one", "because", "two"]);
    assert_eq!(chat.sent(), 2);
}

#[test]
fn only_what_waits_for_it_is_resolved() {
    let chat = asked(Value::Null, [("bash", bash("echo ran")), ("ask", question("Why?"))]);
    chat.wait_for_pending(2);
    assert_eq!(chat.waiting(), ["call_0 approval", "call_1 elicitation"]);
    assert_eq!(chat.resolve("nobody", Resolution::Approve), stale());
    assert_eq!(chat.resolve("call_0", answer(json!("forged"))), stale(), "an answer is no result of a command");
    assert_eq!(chat.resolve("call_0", Resolution::Fail("forged".into())), stale());
    assert_eq!(chat.resolve("call_0", Resolution::Approve), Ok(()));
    assert_eq!(chat.resolve("call_0", Resolution::Approve), stale());
    chat.drain_until("the command", |chat| chat.text().contains("ran\n```"));
    assert_eq!(chat.resolve("call_0", Resolution::Reject(None)), stale());
    assert_eq!(chat.resolve("call_1", answer(json!(42))), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["ran", "42"]);
}

#[test]
fn a_caller_is_answered_before_the_next_reply() {
    let gate = Gate::default();
    let chat = asked(Value::Null, [("ask", question("Why?"))]);
    chat.wait_for("kind=elicitation");
    // The reply of the next request hangs.
    let saved = chat.text();
    let hanging = chat.kill(&saved, Value::Null, [held("wait", &gate, " for it")]);
    hanging.define("ask", json!({ "executor": "human" }));
    let buffer = hanging.edit("notes.chat");
    hanging.go_to(buffer);
    hanging.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    assert_eq!(hanging.resolve("call_0", answer(json!("now"))), Ok(()));
    assert!(hanging.text().contains("now\n```"), "it is written by then");
    hanging.drain_until("the next request", |chat| chat.sent() == 1);
    gate.open();
    hanging.wait_for("wait for it");
}

/// Registers `pick`, which counts its runs and answers later.
fn client(chat: &Harness, more: Value) -> Rc<Cell<usize>> {
    let runs = Rc::new(Cell::new(0));
    let count = Rc::clone(&runs);
    let mut fields = json!({ "executor": "client", "async": true });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    chat.register_with("pick", fields, move |input, answer| {
        count.set(count.get() + 1);
        if input.get("later").is_none() {
            answer.finish(text("picked"));
        }
        None
    });
    runs
}

#[test]
fn a_gated_client_call_waits_twice() {
    let chat = Harness::new("@You:\nHello", [calls([("pick", json!({}))]), prose("fine")]);
    let runs = client(&chat, json!({ "approval": "requires_approval" }));
    chat.go();
    chat.wait_for("kind=approval executor=client");
    assert_eq!((chat.waiting(), runs.get()), (vec!["call_0 approval".to_owned()], 0));
    chat.execute("kind=approval");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(1), runs.get()), (vec!["picked".to_owned()], 1));
    let announced = chat.host.announced.borrow();
    let pending = announced.iter().filter(|event| event.starts_with("pending")).cloned().collect::<Vec<_>>();
    assert_eq!(pending, ["pending call_0 approval", "pending call_0 client_exec"]);
}

#[test]
fn pressing_twice_runs_a_client_call_once() {
    let chat = Harness::new("@You:\nHello", [calls([("pick", json!({ "later": true }))]), prose("fine")]);
    let runs = client(&chat, json!({}));
    chat.go();
    chat.wait_for("kind=approval");
    let line = chat.line_with("kind=approval");
    for _ in 0..3 {
        chat.workspace.dispatch(chat.current(), flemma_workspace::Command::Execute { line });
    }
    chat.drain_until("the call", |chat| chat.text().contains("kind=client_exec"));
    chat.drain_until("its run", |_| runs.get() > 0);
    for _ in 0..3 {
        chat.execute("kind=client_exec");
        chat.approve("kind=client_exec");
    }
    assert_eq!(chat.waiting(), ["call_0 client_exec"]);
    assert!(!chat.buffer().is_locked.get());
    assert_eq!(chat.resolve("call_0", answer(json!("from outside"))), Ok(()));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(1), runs.get()), (vec!["from outside".to_owned()], 1));
}

#[test]
fn without_a_user_interface_a_client_call_fails() {
    let options = json!({ "tools": { "auto_approve": ["pick"] } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("pick", json!({}))]), prose("fine")]);
    let now: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    chat.host.clock.set(Some(now));
    chat.host.has_ui.set(false);
    let runs = client(&chat, json!({}));
    chat.go();
    chat.wait_for("expires=2026-01-01T00:00:10Z");
    chat.host.clock.set(Some("2026-01-01T00:00:10Z".parse().unwrap()));
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let none = "Error: No user interface of the editor was attached, so this call could not run.";
    assert_eq!((chat.results(1), runs.get()), (vec![none.to_owned()], 0));
}

#[test]
fn a_user_interface_that_comes_in_time_runs_the_call() {
    let options = json!({ "tools": { "auto_approve": ["pick"] } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("pick", json!({}))]), prose("fine")]);
    chat.host.has_ui.set(false);
    let runs = client(&chat, json!({}));
    chat.go();
    chat.wait_for("kind=client_exec");
    chat.host.has_ui.set(true);
    chat.workspace.ui_attached();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!((chat.results(1), runs.get()), (vec!["picked".to_owned()], 1));
}

#[test]
fn an_answer_counts_until_the_deadline() {
    let deadline: jiff::Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
    for (milliseconds, is_in_time) in [(-1, true), (0, false), (1, false)] {
        let chat = Harness::new("@You:\nHello", [calls([("ask", question("Why?"))]), prose("fine")]);
        chat.host.clock.set(Some("2026-01-01T00:00:00Z".parse().unwrap()));
        chat.define("ask", json!({ "executor": "human" }));
        chat.go();
        chat.wait_for("expires=2026-01-02T00:00:00Z");
        let now = deadline + jiff::SignedDuration::from_millis(milliseconds);
        chat.host.clock.set(Some(now));
        let resolved = chat.resolve("call_0", answer(json!("here")));
        assert_eq!(resolved, if is_in_time { Ok(()) } else { stale() }, "{milliseconds}");
        chat.wait_for("@Assistant:\nfine");
        let late = "Error: The user did not respond in time.".to_owned();
        assert_eq!(chat.results(1), [if is_in_time { "here".to_owned() } else { late }]);
    }
}

#[test]
fn the_clock_leaves_the_users_text_alone() {
    let chat = Harness::new("@You:\nHello", [calls([("ask", question("Why?"))]), prose("fine")]);
    chat.host.clock.set(Some("2026-01-01T00:00:00Z".parse().unwrap()));
    chat.define("ask", json!({ "executor": "human" }));
    chat.go();
    chat.wait_for("expires=2026-01-02T00:00:00Z");
    chat.type_at(chat.line_with("kind=elicitation") + 1, "because\n@You: too");
    let typed = chat.text();
    chat.told();
    chat.host.clock.set(Some("2026-01-02T00:00:00Z".parse().unwrap()));
    // A program that comes too late does not disturb them either.
    assert_eq!(chat.resolve("call_0", answer(json!("late"))), stale());
    chat.settle();
    assert_eq!(chat.resolve("call_0", answer(json!("late"))), stale());
    assert_eq!(chat.text(), typed);
    let told = chat.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("ask (call_0): its deadline passed at 2026-01-02 00:00 UTC. Your text stays"), "{told:?}");
    // The key makes room: nothing is lost, and nothing is sent.
    chat.go();
    chat.wait_for("The user did not respond in time.");
    assert!(chat.text().trim_end().ends_with("```\n\nbecause\n\\@You: too"), "{}", chat.text());
    assert!(
        chat.told()
            .iter()
            .any(|told| told.contains("its deadline has passed, so your text") && told.contains(SENDS_IT))
    );
    assert_eq!(chat.sent(), 1);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: The user did not respond in time."]);
    assert!(chat.body(1).to_string().contains("because\\n@You: too"), "{}", chat.body(1));
}

const SENDS_IT: &str = "It is at the end of your message now. Press Ctrl-] to send it.";

#[test]
fn text_that_came_too_late_says_what_sends_it() {
    let chat = asked(Value::Null, [("ask", question("Why?")), ("ask", question("Where?"))]);
    chat.wait_for_pending(2);
    for (call, sends_it) in [
        ("call_0", "It is at the end of your message now. When the other calls have their results, Ctrl-] sends it."),
        ("call_1", SENDS_IT),
    ] {
        chat.type_at(chat.line_with("kind=elicitation") + 1, "because");
        chat.told();
        let by_client = |workspace: &flemma_workspace::Workspace, buffer| {
            let resolution = Resolution::Answer(json!("elsewhere"));
            workspace.resolve_later(buffer, &call.into(), resolution, flemma_journal::Role::Client, |_, _| {});
        };
        by_client(&chat.workspace, chat.current());
        chat.drain_until("the message", |chat| {
            let news = format!("({call}): the call got another result");
            chat.host.told.borrow().iter().any(|told| told.contains(&news))
        });
        let told = chat.told();
        assert!(told.iter().any(|told| told.contains(call) && told.ends_with(sends_it)), "{told:?}");
    }
}

#[test]
fn the_clock_waits_for_a_user_who_is_typing() {
    let chat = asked(Value::Null, [("ask", question("Why?"))]);
    chat.wait_for("kind=elicitation");
    chat.host.is_typing.set(true);
    let before = chat.text();
    let expires = before.split("expires=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    chat.host.clock.set(Some(expires.parse().unwrap()));
    assert_eq!(chat.resolve("call_0", answer(json!("late"))), stale());
    chat.settle();
    assert_eq!((chat.text(), chat.sent()), (before.clone(), 1));
    chat.host.is_typing.set(false);
    assert_eq!(chat.resolve("call_0", answer(json!("late"))), stale());
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: The user did not respond in time."]);
}

#[test]
fn text_is_not_lost_to_another_result() {
    let chat = asked(Value::Null, [("ask", question("Why?"))]);
    chat.wait_for("kind=elicitation");
    chat.type_at(chat.line_with("kind=elicitation") + 1, "half a th");
    assert_eq!(chat.resolve("call_0", answer(json!("now"))), Ok(()));
    while chat.drain_once() {}
    assert!(chat.text().contains("now\n```\n\nhalf a th"), "{}", chat.text());
    assert_eq!(chat.sent(), 1, "what the user has not submitted is not sent");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["now"]);
}

#[test]
fn a_key_says_that_the_deadline_has_passed() {
    type Press = fn(&Harness);
    let presses: [(&str, Press); 4] = [
        ("Ctrl-]", |chat| chat.go()),
        ("Alt-Enter", |chat| chat.execute("kind=elicitation")),
        ("approve", |chat| chat.approve("kind=elicitation")),
        ("reject", |chat| chat.reject("kind=elicitation", None)),
    ];
    for (key, press) in presses {
        let chat = asked(Value::Null, [("ask", question("Why?"))]);
        chat.wait_for("kind=elicitation");
        chat.replace("expires=2", "expires=1");
        while chat.text().contains("kind=elicitation") && chat.told().is_empty() {
            press(&chat);
            while chat.drain_once() {}
        }
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.results(1), ["Error: The user did not respond in time."], "{key}");
    }
}

#[test]
fn the_text_for_a_client_tool_has_to_match_its_schema() {
    for is_running in [false, true] {
        let call = ("pick", json!({ "later": true }));
        let chat = Harness::new("@You:\nHello", [calls([call]), prose("fine")]);
        let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
        let approval = if is_running { "auto" } else { "requires_approval" };
        let runs = client(&chat, json!({ "result_schema": schema, "approval": approval }));
        chat.go();
        chat.drain_until("its wait", |chat| {
            chat.text().contains("status=pending") && !chat.conversation().is_busy() && (runs.get() == 1) == is_running
        });
        chat.type_at(chat.line_with("status=pending") + 1, "{\"n\": \"x\"}");
        chat.told();
        chat.go();
        while chat.drain_once() {}
        let told = chat.told();
        assert!(
            told.iter().any(|told| told.contains("pick (call_0): your text is not used as the result")),
            "{told:?}"
        );
        let fix = ": `/n`: expected integer, got the string \"x\". Correct it in the block, and press Ctrl-] again.";
        assert!(told.iter().any(|told| told.ends_with(fix)), "{told:?}");
        chat.replace("{\"n\": \"x\"}", "five");
        chat.go();
        while chat.drain_once() {}
        let fix = ": the answer: expected object, got the string \"five\". Write JSON that matches it in the block, and \
                   press Ctrl-] again.";
        let told = chat.told();
        assert!(told.iter().any(|told| told.ends_with(fix)), "{told:?}");
        chat.replace("five", "{\"n\": \"x\"}");
        assert!(chat.text().contains("{\"n\": \"x\"}") && chat.text().contains("status=pending"));
        chat.replace("\"x\"", "7");
        chat.go();
        chat.drain_until("the result", |chat| {
            !chat.text().contains("status=pending") && !chat.conversation().is_busy()
        });
        if !is_running {
            chat.go();
        }
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.results(1), ["{\"n\": 7}"], "running: {is_running}");
    }
}

#[test]
#[ignore = "slow"]
fn keys_and_programs_have_one_winner() {
    for round in 0..100 {
        let chat = asked(Value::Null, [("bash", bash("echo ran >> runs"))]);
        chat.wait_for_pending(1);
        let line = chat.line_with("status=pending");
        let key = flemma_workspace::Command::Decide { lines: line..line + 1, choice: flemma_agent::Choice::Approve };
        // The key is on its way to the disk when the program comes, or the other way round.
        let (first, second);
        if round % 2 == 0 {
            chat.workspace.dispatch(chat.current(), key.clone());
            first = chat.resolve("call_0", Resolution::Reject(Some("no".into())));
            second = chat.resolve("call_0", Resolution::Approve);
        } else {
            first = chat.resolve("call_0", Resolution::Reject(Some("no".into())));
            second = stale();
            chat.workspace.dispatch(chat.current(), key);
        }
        chat.wait_for("@Assistant:\nfine");
        let ran = chat.work("runs").exists();
        assert_eq!((first.is_ok(), second), (!ran, stale()), "round {round}");
        let expected = if ran { "" } else { "Error: no" };
        assert_eq!(chat.results(1).len(), 1);
        assert!(chat.results(1)[0].starts_with(expected));
    }
}

#[test]
fn a_denied_call_is_never_entered() {
    for executor in ["server", "client"] {
        for approval in ["auto", "requires_approval"] {
            for by_policy in [true, false] {
                let presets = json!({ "$no": { "deny": ["tool"] } });
                let list = if by_policy { json!(["$no"]) } else { json!([]) };
                let options = json!({ "tools": { "presets": presets, "auto_approve": list } });
                let setup = Setup { options, ..Setup::default() };
                let chat = Harness::start(setup, [calls([("tool", json!({}))]), prose("fine")]);
                let entered = Rc::new(Cell::new(false));
                let seen = Rc::clone(&entered);
                let fields = json!({ "executor": executor, "approval": approval });
                chat.register_with("tool", fields, move |_, answer| {
                    seen.set(true);
                    answer.finish(text("ran"));
                    None
                });
                chat.go();
                if !by_policy {
                    chat.wait_for_pending(1);
                    chat.reject("status=pending", Some("no"));
                }
                chat.wait_for("@Assistant:\nfine");
                assert!(chat.results(1)[0].starts_with("Error: "), "{executor} {approval} {by_policy}");
                assert!(!entered.get(), "{executor} {approval} {by_policy}");
            }
        }
    }
}

#[test]
fn a_policy_may_forbid_questions() {
    let options = json!({ "tools": { "presets": { "$quiet": { "deny": ["ask_user"] } }, "auto_approve": ["$quiet"] } });
    let setup = Setup { options, ..Setup::default() };
    let call = ("ask_user", json!({ "question": "Why?", "options": null, "default": null }));
    let chat = Harness::start(setup, [calls([call]), prose("fine")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: The user's policy denies this call; it did not run."]);
}

#[test]
fn a_running_client_call_is_not_entered_again() {
    for edit in ["status=approved", "status=running", "status=rejected"] {
        let chat = Harness::new("@You:\nHello", [calls([("pick", json!({ "later": true }))]), prose("fine")]);
        let runs = client(&chat, json!({ "approval": "auto" }));
        chat.go();
        chat.drain_until("its run", |_| runs.get() == 1);
        chat.replace("status=pending", edit);
        chat.go();
        while chat.drain_once() {}
        if edit == "status=rejected" {
            chat.wait_for("@Assistant:\nfine");
            assert_eq!(chat.results(1), ["Error: The user rejected this call; it did not run."]);
        } else {
            assert_eq!((runs.get(), chat.sent()), (1, 1), "{edit}");
            assert!(!chat.conversation().is_busy());
        }
    }
}
