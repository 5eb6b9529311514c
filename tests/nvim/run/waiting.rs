//! Conversations that wait for a person.

use serde_json::json;

use super::{desktop::Desktop, endings::NOTE};
use crate::{
    chat::{call, prose},
    command_line::PORT,
    http::Reply,
    support::{Nvim, Options},
};

fn gated() -> String {
    NOTE.replace("approval = 'auto'", "approval = 'requires_approval'")
}

#[test]
fn what_waits_for_approval_is_listed_and_carried_on_after_it() {
    let user = Desktop::new("", &gated(), [call("toolu_1", "note", &json!({})), prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.starts_with("kind=approval notes.chat:") && said.out.contains("toolu_1 note"), "{said:?}");
    assert_eq!(user.text("effects"), "");
    // Nothing has changed.
    let said = user.flemma(&["run", "notes.chat", "--json"]);
    let json = said.json();
    assert_eq!((said.code, &json["kinds"], &json["requests"]), (3, &json!(["approval"]), &json!(0)));
    assert_eq!(json["waiting"][0]["call"], "toolu_1");
    let said = user.flemma(&["resolve", "notes.chat", "toolu_1", "--approve", "--continue"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.text("effects"), "toolu_1\n");
    assert!(user.text("notes.chat").contains("@Assistant:\nfine"));
}

#[test]
fn an_approval_is_for_the_input_that_was_asked_about() {
    let input = json!({ "label": null, "command": "echo one >> effects", "timeout": null });
    let user = Desktop::new("", "", [call("toolu_1", "bash", &input), prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 3 && said.out.contains("toolu_1 bash approval: $ echo one >> effects"), "{said:?}");
    user.put("work/notes.chat", &user.text("notes.chat").replace("echo one", "echo two"));
    let said = user.flemma(&["resolve", "notes.chat", "toolu_1", "--approve", "--continue"]);
    assert!(said.code == 1 && said.err.contains("its input has changed since it was asked about"), "{said:?}");
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 3 && said.out.contains("toolu_1 bash approval: $ echo two >> effects"), "{said:?}");
    let said = user.flemma(&["resolve", "notes.chat", "toolu_1", "--approve", "--continue"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.text("effects"), "two\n");
}

#[test]
fn the_configuration_can_continue_after_each_answer() {
    let user = Desktop::new("", PORT, [call("toolu_1", "port", &json!({})), call("toolu_2", "port", &json!({}))]);
    assert_eq!(user.flemma(&["run", "notes.chat"]).code, 3);
    user.configure("continue = true");
    let said = user.flemma(&["resolve", "notes.chat", "toolu_1", "--result", "80", "--json"]);
    assert_eq!(said.code, 3, "{said:?}");
    let json = said.json();
    assert_eq!((&json["call"], &json["run"]["kinds"]), (&json!("toolu_1"), &json!(["elicitation"])));
    assert_eq!(json["run"]["waiting"][0]["call"], "toolu_2");
    // Without it, the next one who opens the file carries it on.
    user.configure("");
    let said = user.flemma(&["resolve", "notes.chat", "toolu_2", "--result", "81"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.server.requests().len(), 2);
    user.server.push(prose(&["fine"]));
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(user.text("notes.chat").contains("@Assistant:\nfine"));
}

#[test]
fn what_a_file_brings_has_to_be_trusted_once() {
    let user = Desktop::new("", "", [prose(&["fine"])]);
    let text = "```lua\nflemma.opt.model = 'of-the-file'\n```\n\n@You:\nHello @./../secret.txt\n";
    user.put("secret.txt", "a secret");
    user.put("work/notes.chat", text);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!((said.code, said.out.as_str()), (3, "kind=trust notes.chat:1: the frontmatter (lua)\n"), "{said:?}");
    assert_eq!((user.text("notes.chat"), user.server.requests().len()), (text.to_owned(), 0));
    let said = user.flemma(&["run", "notes.chat", "--trust"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.server.requests()[0].json()["model"], "of-the-file");
    // It is remembered, for this file with these contents only.
    user.server.push(prose(&["again"]));
    let more = user.text("notes.chat") + "More\n";
    user.put("work/notes.chat", &more);
    assert_eq!(user.flemma(&["run", "notes.chat"]).code, 0);
    user.put("work/other.chat", text);
    assert_eq!(user.flemma(&["run", "other.chat"]).code, 3);
}

#[test]
fn files_outside_the_folder_have_to_be_trusted_too() {
    let user = Desktop::new("", "", [prose(&["fine"])]);
    user.put("secret.txt", "a secret");
    user.put("work/notes.chat", "@You:\nHello @./../secret.txt\n");
    let said = user.flemma(&["run", "notes.chat", "--json"]);
    assert_eq!(said.code, 3, "{said:?}");
    let json = said.json();
    assert_eq!((&json["kinds"], &json["waiting"][0]["line"]), (&json!(["trust"]), &json!(2)));
    assert!(json["waiting"][0]["files"][0].as_str().unwrap().ends_with("/secret.txt"));
    assert_eq!(user.flemma(&["run", "notes.chat", "--trust"]).code, 0);
    assert!(String::from_utf8_lossy(&user.server.requests()[0].body).contains("a secret"));
}

#[test]
fn a_projects_instructions_have_to_be_trusted_once() {
    let user = Desktop::new("", "", [prose(&["fine"]), prose(&["again"])]);
    user.put("work/.git/HEAD", "ref: refs/heads/main\n");
    user.put("work/AGENTS.md", "Be brief.\n");
    user.put("work/notes.chat", "@You:\nHello\n");
    let said = user.flemma(&["run", "notes.chat"]);
    let waiting = "kind=trust notes.chat:1: the instructions in AGENTS.md\n";
    assert_eq!((said.code, said.out.as_str()), (3, waiting), "{said:?}");
    assert_eq!(user.flemma(&["run", "notes.chat", "--trust"]).code, 0);
    assert!(user.server.requests()[0].json()["system"].to_string().contains("Be brief."));
    assert!(user.text("notes.chat").contains("Be brief."));
    user.put("work/other.chat", "@You:\nHello\n");
    assert_eq!(user.flemma(&["run", "other.chat"]).code, 0);
}

#[test]
fn a_limit_on_money_ends_a_run() {
    let user = Desktop::new("budget = { turn = 1 }", "", [prose(&["fine"])]);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code != 0 && said.err.contains("the price of claude-test is not known"), "{said:?}");
    assert!(user.server.requests().is_empty());
}

#[test]
fn an_editor_keeps_its_conversation() {
    let user = Desktop::new("", "", [Reply::silence()]);
    let file = user.path("notes.chat");
    let state = user.home().join("state");
    let mut nvim = Nvim::start(&Options {
        arguments: &[file.to_str().unwrap()],
        init: "require('flemma').setup()",
        environment: &[("XDG_STATE_HOME", state.to_str().unwrap())],
        ..Options::default()
    });
    let settled = "return require('flemma.native').call('state', 1, 'settled')";
    nvim.wait_for("the conversation", |nvim| nvim.lua(settled, &[]) == true);
    let said = user.flemma(&["run", "notes.chat"]);
    assert!(said.code == 4 && said.err.contains("is held by"), "{said:?}");
    assert!(user.server.requests().is_empty());
}
