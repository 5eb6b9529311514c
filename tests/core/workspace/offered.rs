//! Which tools a request offers: those that the user's message names, those of groups, and those that decide themselves.

use std::{cell::RefCell, rc::Rc};

use flemma_tools::LuaRef;
use flemma_workspace::Command;
use serde_json::{Value, json};

use super::harness::{Harness, Setup, calls, prose};

/// A conversation with this text and these replies, the tools `one` and `two`, which are off by default, and no others.
fn start(text: &str, replies: impl IntoIterator<Item = crate::http::Reply>) -> Harness {
    start_with(text, Value::Null, replies)
}

fn start_with(text: &str, more: Value, replies: impl IntoIterator<Item = crate::http::Reply>) -> Harness {
    let off = json!({ "enabled": false });
    let mut tools: serde_json::Map<String, Value> =
        ["bash", "calculator", "edit", "find", "grep", "ls", "read", "write", "ask_user"]
            .into_iter()
            .map(|tool| (tool.to_owned(), off.clone()))
            .collect();
    tools.extend(more.as_object().cloned().unwrap_or_default());
    let chat = Harness::start(Setup { text, options: json!({ "tools": tools }), ..Setup::default() }, replies);
    for tool in ["one", "two"] {
        chat.register_hooks(tool, json!({ "enabled": false, "approval": "auto" }), &[]);
    }
    chat
}

/// A group of tools.
fn group(chat: &Harness, name: &str, fields: Value) {
    chat.workspace.tools.register_group(name, fields.as_object().unwrap()).unwrap();
}

/// Types a message below, and sends it.
fn say(chat: &Harness, words: &str) {
    chat.type_below(words);
    chat.go();
}

/// Types a file from its first line, and sends it.
fn begin(chat: &Harness, text: &str) {
    chat.type_at(0, text);
    chat.go();
}

/// A tool that is offered while the cell says so; `Null` throws.
fn conditional(chat: &Harness, name: &str, more: Value) -> Rc<RefCell<Value>> {
    let answer = Rc::new(RefCell::new(json!(true)));
    let said = Rc::clone(&answer);
    let hook: LuaRef = chat.scripts.hook(move |_| match said.borrow().clone() {
        Value::Null => Err("on purpose".to_owned()),
        answer => Ok(answer),
    });
    chat.register_hooks(name, more, &[("enabled", hook)]);
    answer
}

const NONE: [&str; 0] = [];

#[test]
fn a_name_in_the_message_offers_a_tool_for_the_turn() {
    let replies = [calls([("one", json!({}))]), prose("first"), prose("second"), prose("third")];
    let chat = start("", replies);
    say(&chat, "@You:\nuse @one, please, and not `@two`");
    chat.wait_for("@Assistant:\nfirst");
    say(&chat, "and now?");
    chat.wait_for("@Assistant:\nsecond");
    say(&chat, "(@{two})");
    chat.wait_for("@Assistant:\nthird");
    assert_eq!(chat.offered(0), ["one"]);
    assert_eq!(chat.offered(1), ["one"], "results of tools are no message of the user's");
    assert_eq!(chat.results(1), ["done"], "and it ran, as it declares");
    assert_eq!(chat.offered(2), NONE);
    assert_eq!(chat.offered(3), ["two"]);
}

#[test]
fn a_name_adds_to_what_the_file_offers() {
    let text = "```lua\nflemma.opt.tools = [\"two\"]\n```\n";
    let chat = start("", [prose("fine")]);
    begin(&chat, &format!("{text}\n@You:\n@one"));
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.offered(0), ["one", "two"]);
}

#[test]
fn a_tool_that_the_user_switched_off_stays_off() {
    let off = json!({ "one": { "enabled": false }, "mine": { "enabled": false }, "yours": { "enabled": true } });
    let chat = start_with("", off, [prose("fine"), prose("good")]);
    conditional(&chat, "mine", json!({}));
    *conditional(&chat, "yours", json!({})).borrow_mut() = json!(false);
    say(&chat, "@You:\n@one @two @bash @mine");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.offered(0), ["two", "yours"]);
    assert_eq!(chat.scripts.asked.borrow().len(), 0, "the user's switch has decided");
}

#[test]
fn a_request_without_names_does_not_change() {
    let sent = |has_more: bool| {
        let chat = Harness::new("@You:\nHello", [prose("fine")]);
        if has_more {
            chat.register_hooks("named", json!({ "enabled": false }), &[]);
            group(&chat, "named", json!({ "tools": ["named"], "system_prompt": "Hm." }));
        }
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        chat.request(0).body
    };
    assert_eq!(sent(false), sent(true));
}

#[test]
fn what_was_offered_can_be_called_and_nothing_else() {
    let chat = start("", [calls([("one", json!({})), ("two", json!({}))]), prose("fine")]);
    say(&chat, "@You:\n@one");
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert_eq!(results[0], "done");
    assert!(results[1].starts_with("Error: There is no tool `two`."), "{results:?}");
}

#[test]
fn a_name_in_a_file_from_elsewhere_approves_nothing() {
    let options = json!({ "auto_approve": ["one"] });
    let text = "@You:\nuse @one and @web_search";
    let chat = start_with(text, options.clone(), [calls([("one", json!({}))]), prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    assert_eq!(chat.offered(0), ["one"]);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["done"]);
    // What the user writes into the file counts.
    let chat =
        start_with(text, options.clone(), [calls([("one", json!({}))]), calls([("one", json!({}))]), prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    chat.always("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(2), ["done", "done"]);
    // The same, where the user has written it.
    let chat = start_with("", options, [calls([("one", json!({}))]), prose("fine")]);
    say(&chat, text);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["done"]);
}

#[test]
fn a_named_tool_can_be_approved_in_the_next_session() {
    let chat = start("", [calls([("one", json!({}))])]);
    chat.register_hooks("one", json!({ "enabled": false }), &[]);
    say(&chat, "@You:\n@one");
    chat.wait_for_pending(1);
    let text = chat.text() + "\n";
    let chat = chat.kill(&text, Value::Null, [prose("fine")]);
    chat.register_hooks("one", json!({ "enabled": false }), &[]);
    chat.edit("notes.chat");
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(chat.current()));
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(0), ["done"]);
    assert!(chat.offered(0).contains(&"one".to_owned()), "{:?}", chat.offered(0));
}

#[test]
fn a_tool_can_decide_before_each_request_whether_it_is_offered() {
    let chat = start("", [prose("first"), prose("second"), prose("third"), prose("fourth")]);
    let answer = conditional(&chat, "mine", json!({}));
    say(&chat, "@You:\nHello");
    chat.wait_for("@Assistant:\nfirst");
    *answer.borrow_mut() = json!(false);
    say(&chat, "again");
    chat.wait_for("@Assistant:\nsecond");
    *answer.borrow_mut() = Value::Null;
    say(&chat, "again");
    chat.wait_for("@Assistant:\nthird");
    say(&chat, "@mine");
    chat.wait_for("@Assistant:\nfourth");
    assert_eq!((0..4).map(|n| chat.offered(n).join(" ")).collect::<Vec<_>>(), ["mine", "", "", ""]);
    let asked = chat.scripts.asked.borrow().clone();
    let named: Vec<_> = asked.iter().map(|asked| asked["named"].as_bool().unwrap()).collect();
    assert_eq!(named, [false, false, false, true], "once for each request, and never to draw");
    let told = chat.told();
    assert_eq!(told.iter().filter(|told| told.contains("`enabled` failed: on purpose")).count(), 1, "{told:?}");
}

#[test]
fn what_a_tool_said_for_the_request_counts_for_its_calls() {
    let chat = start("", [calls([("mine", json!({}))]), prose("fine")]);
    let answer = conditional(&chat, "mine", json!({}));
    say(&chat, "@You:\nHello");
    chat.wait_for_pending(1);
    *answer.borrow_mut() = json!(false);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["done"]);
    assert_eq!(chat.offered(1), NONE);
}

#[test]
fn a_file_chooses_among_tools_that_decide_themselves() {
    for (code, offered, named) in [
        ("flemma.opt.tools:append([\"one\"])", "mine one", false),
        ("flemma.opt.tools:remove([\"mine\"])", "", false),
        ("flemma.opt.tools = [\"one\"]", "one", false),
        ("flemma.opt.tools = [\"mine\"]", "mine", true),
    ] {
        let chat = start("", [prose("fine")]);
        conditional(&chat, "mine", json!({}));
        begin(&chat, &format!("```lua\n{code}\n```\n\n@You:\nHello"));
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.offered(0).join(" "), offered, "{code}");
        assert!(chat.scripts.asked.borrow().iter().all(|asked| asked["named"] == named), "{code}");
    }
}

#[test]
fn a_group_offers_its_tools_with_its_prompt() {
    let chat = start("", [calls([("two", json!({}))]), prose("first"), prose("second")]);
    group(&chat, "pair", json!({ "tools": ["two", "later", "one"], "system_prompt": "Work in pairs." }));
    say(&chat, "@System:\nBe brief.\n\n@You:\nuse @pair");
    chat.wait_for("@Assistant:\nfirst");
    say(&chat, "and without");
    chat.wait_for("@Assistant:\nsecond");
    let system = |n: usize| chat.body(n)["messages"][0]["content"].as_str().unwrap().to_owned();
    assert_eq!(
        (chat.offered(0), system(0)),
        (vec!["one".to_owned(), "two".to_owned()], "Be brief.\n\nWork in pairs.".to_owned())
    );
    assert_eq!((chat.offered(1), system(1)), (chat.offered(0), system(0)));
    assert_eq!((chat.offered(2).len(), system(2)), (0, "Be brief.".to_owned()));
}

#[test]
fn a_group_in_the_list_of_a_file_stands_for_its_tools() {
    let chat = start("", [prose("first"), prose("second")]);
    group(&chat, "pair", json!({ "tools": ["one", "two"], "system_prompt": "Work in pairs." }));
    begin(&chat, "```lua\nflemma.opt.tools = [\"$pair\"]\nflemma.opt.tools:remove([\"two\"])\n```\n\n@You:\nHello");
    chat.wait_for("@Assistant:\nfirst");
    assert_eq!(chat.offered(0), ["one"]);
    assert!(!chat.body(0).to_string().contains("in pairs"));
    chat.replace("[\"$pair\"]", "[\"$peer\"]");
    say(&chat, "again");
    chat.wait_for_words("there is no group `$peer`");
    assert_eq!(chat.sent(), 1);
}

#[test]
fn an_illegal_group_is_refused_with_its_field() {
    let chat = start("", []);
    for (name, fields, words) in [
        ("a b", json!({ "tools": ["one"] }), "group `a b`: `name` must be 1 to 64 letters"),
        ("g", json!({}), "group `g`: `tools` must be a list with the names of tools"),
        ("g", json!({ "tools": [] }), "`tools` must be a list"),
        ("g", json!({ "tools": ["one", 2] }), "`tools` must be a list"),
        ("g", json!({ "tools": ["one"], "system_promt": "x" }), "did you mean `system_prompt`?"),
        ("g", json!({ "tools": ["one"], "description": 1 }), "`description` must be a string"),
    ] {
        let refused = chat.workspace.tools.register_group(name, fields.as_object().unwrap());
        let problem = refused.unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
    assert!(chat.workspace.shared.toolbox.groups().is_empty());
}

#[test]
fn the_status_shows_what_the_next_request_offers() {
    let chat = start("", [prose("fine")]);
    let answer = conditional(&chat, "mine", json!({}));
    chat.type_below("@You:\nuse @one");
    chat.status_has("tools mine, one default");
    *answer.borrow_mut() = json!(false);
    chat.status_has("tools one default");
    assert!(chat.workspace.views.tool_list(&chat.conversation()).iter().any(|line| line.starts_with("mine (off)")));
    let estimate = |chat: &Harness| {
        chat.host.told.borrow_mut().clear();
        while chat.workspace.usage.estimate(chat.current()) {}
        chat.drain_until("the estimate", |chat| !chat.host.told.borrow().is_empty());
        chat.host.told.borrow()[0].clone()
    };
    let with_one = estimate(&chat);
    *answer.borrow_mut() = json!(true);
    assert_ne!(estimate(&chat), with_one, "it counts the tools that are offered");
    *answer.borrow_mut() = json!(false);
    chat.press(Command::Advance);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.offered(0), ["one"]);
}

#[test]
fn a_trusted_drive_takes_the_names_as_the_users() {
    for is_trusted in [true, false] {
        let chat = start("@You:\n@one", [calls([("one", json!({}))]), prose("fine")]);
        let options = flemma_workspace::DriveOptions { is_trusted, ..Default::default() };
        chat.workspace.drives.drive(chat.current(), options);
        if is_trusted {
            chat.wait_for("@Assistant:\nfine");
        } else {
            chat.wait_for_pending(1);
        }
    }
}
