//! What tools themselves declare about approval, by a function.

use flemma_tools::approval::{self, Decision};
use serde_json::{Value, json};

use super::harness::{Harness, Setup, calls, prose};

/// A conversation with the tool `mine`, which declares this of each call.
fn declaring(options: Value, declare: impl Fn(&Value) -> Result<Value, String> + 'static) -> Harness {
    let replies = [calls([("mine", json!({ "n": 1 })), ("mine", json!({ "n": 2 }))]), prose("fine")];
    let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
    let hook = chat.scripts.hook(declare);
    chat.register_hooks("mine", json!({}), &[("approval", hook)]);
    chat
}

/// `"auto"` for 1, `"requires_approval"` for 2, nothing for anything else.
fn by_number(asked: &Value) -> Result<Value, String> {
    Ok(match asked["input"]["n"].as_u64() {
        Some(1) => json!("auto"),
        Some(2) => json!("requires_approval"),
        _ => Value::Null,
    })
}

fn decide(chat: &Harness, n: u64) -> (Decision, Option<String>) {
    chat.decision("mine", json!({ "n": n }))
}

#[test]
fn a_function_of_the_tool_decides_on_each_call() {
    let chat = declaring(Value::Null, by_number);
    let declared = || Some(approval::DECLARED.to_owned());
    assert_eq!(decide(&chat, 1), (Decision::Approve, declared()));
    assert_eq!(decide(&chat, 2), (Decision::RequireApproval, declared()));
    assert_eq!(decide(&chat, 3), (Decision::RequireApproval, None));
    chat.go();
    chat.wait_for_pending(1);
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["done", "done"]);
    let asked = chat.scripts.asked.borrow();
    let ids: Vec<_> = asked.iter().map(|asked| asked["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"call_0") && ids.contains(&"call_1") && ids.contains(&""), "{ids:?}");
}

#[test]
fn the_users_policy_is_heard_before_the_function() {
    let deny = json!({ "tools": { "auto_approve": ["$no"], "presets": { "$no": { "deny": ["mine"] } } } });
    let chat = declaring(deny, |_| panic!("nobody asks it"));
    assert_eq!(decide(&chat, 1).0, Decision::Deny);
    let approve = json!({ "tools": { "auto_approve": ["mine"] } });
    let chat = declaring(approve, |_| panic!("nobody asks it"));
    assert_eq!(decide(&chat, 2).0, Decision::Approve);
}

#[test]
fn a_list_that_removes_a_tool_silences_its_function() {
    let text = "```lua\nflemma.opt.tools.auto_approve:remove([\"mine\"])\n```\n\n@You:\nHello";
    let chat = Harness::new("@You:\nHello", []);
    let hook = chat.scripts.hook(by_number);
    chat.register_hooks("mine", json!({}), &[("approval", hook)]);
    assert_eq!(decide(&chat, 1).0, Decision::Approve);
    chat.unnamed(text);
    chat.settle();
    assert_eq!(decide(&chat, 1).0, Decision::RequireApproval, "{}", chat.text());
}

#[test]
fn a_function_that_fails_leaves_it_to_the_user_and_tells_once() {
    let chat = declaring(Value::Null, |_| Err("on purpose".to_owned()));
    chat.go();
    chat.wait_for_pending(2);
    let told = chat.told();
    let warnings: Vec<_> = told.iter().filter(|told| told.contains("`approval` failed: on purpose")).collect();
    assert_eq!(warnings.len(), 1, "{told:?}");
    assert!(warnings[0].contains("the tool `mine`"), "{warnings:?}");
}
