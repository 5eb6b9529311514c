//! Role markers, tools and groups.

use flemma_workspace::ItemKind;
use serde_json::json;

use super::{offer, with_files};
use crate::{
    http::Gate,
    workspace::harness::{Harness, Setup, held},
};

#[test]
fn an_at_sign_offers_roles_beginnings_of_paths_and_tools() {
    let chat = with_files(&[]);
    let found = offer(&chat, "@You:\n@¦");
    let words = found.words();
    assert_eq!(words[..7], ["System:", "You:", "Assistant:", "./", "../", "~/", "//"]);
    assert!(words.contains(&"bash") && words.contains(&"calculator_async"), "{words:?}");
    let bash = found.item("bash");
    // Its kind says already that it is a tool.
    assert_eq!((bash.kind, bash.detail.as_str()), (ItemKind::Tool, ""));
    assert!(bash.documentation.starts_with("Run a shell command"), "{}", bash.documentation);
    assert_eq!(found.item("calculator_async").detail, "off by default");
    // What is enabled is first.
    let place = |name: &str| words.iter().position(|word| *word == name);
    assert!(place("write") < place("calculator_async"), "{words:?}");
    assert!(found.items().iter().all(|item| !item.documentation.is_empty()));
    let diff = found.item("diff");
    assert_eq!((diff.kind, diff.detail.as_str()), (ItemKind::Reference, "git diff"));
    // In the middle of a line there is no role.
    let found = offer(&chat, "@You:\nUse @ca¦ for it");
    assert_eq!(found.fitting(), ["calculator", "calculator_async"]);
    assert_eq!(found.replaces(), ("ca", ""));
    assert_eq!(found.taken("calculator"), "Use @calculator for it");
}

#[test]
fn files_are_offered_by_their_names_alone() {
    let chat = with_files(&[("greet.py", "hello\n"), ("src/grep.rs", ""), ("grapes/a.txt", ""), ("Your file.md", "")]);
    let found = offer(&chat, "@You:\nsee @gre¦ please");
    // Files are before tools of such names.
    assert_eq!(found.words()[..2], ["./greet.py", "./"]);
    assert!(found.words().contains(&"grep"), "{:?}", found.words());
    let file = found.item("./greet.py");
    assert_eq!((file.kind, file.label.as_str(), file.detail.as_str()), (ItemKind::File, "greet.py", "6 B"));
    assert_eq!(found.taken("./greet.py"), "see @./greet.py please");
    assert_eq!(offer(&chat, "@You:\nsee @GR¦").words()[..2], ["./grapes/", "./greet.py"]);
    let found = offer(&chat, "@You:\nsee @src/¦");
    assert_eq!(found.taken("./src/grep.rs"), "see @./src/grep.rs");
    // A role that fits is before files, which are before one that does not.
    assert_eq!(offer(&chat, "@You:\n@You¦").words()[..4], ["System:", "You:", "Assistant:", "./Your%20file.md"]);
    assert_eq!(offer(&chat, "@You:\n@gree¦").words()[..2], ["./greet.py", "System:"]);
    // Behind nothing but the sign there are no files yet, and with braces or elsewhere never.
    for text in ["@You:\nsee @¦", "@You:\nsee @{gre¦", "@Assistant:\n@gre¦", "@You:\n```\n@gre¦\n```", "@You:\nme@gre¦"]
    {
        let found = offer(&chat, text);
        assert!(!found.words().contains(&"./greet.py"), "{text}: {:?}", found.words());
    }
}

#[test]
fn text_behind_the_cursor_stays() {
    let chat = with_files(&[]);
    let found = offer(&chat, "@You:\nUse @ca¦lculator, please");
    assert_eq!(found.replaces(), ("ca", "lculator"));
    let found = offer(&chat, "@You:\nUse @{ca¦");
    assert_eq!(found.fitting(), ["calculator}", "calculator_async}"]);
    let found = offer(&chat, "@You:\nUse @{ca¦}s");
    assert_eq!(found.taken("calculator"), "Use @{calculator}s");
    let found = offer(&chat, "@You:\ntext on\n@Yo¦:");
    assert_eq!(found.replaces(), ("Yo", ":"));
    assert_eq!(offer(&chat, "@You:\ntext\n\n¦").fitting(), ["@System:", "@You:", "@Assistant:"]);
    assert_eq!(offer(&chat, "¦").fitting(), ["@System:", "@You:", "@Assistant:"]);
    assert_eq!(offer(&chat, "@¦").fitting(), ["System:", "You:", "Assistant:"]);
    let found = offer(&chat, "@You: grüße (@¦");
    assert!(found.words().contains(&"bash") && found.words().contains(&"./"));
    // A quotation mark may precede a path, and no name.
    let found = offer(&chat, "@You: \"@¦");
    assert_eq!(found.words(), ["./", "../", "~/", "//"]);
}

#[test]
fn code_and_other_messages_offer_nothing() {
    let chat = with_files(&[("a.txt", "")]);
    for text in [
        "@You:\n```\n@¦\n```",
        "@You:\n```\n@./¦\n```",
        "@You:\n~~~lua\nx\n@¦",
        "@You:\na `code @¦` span",
        "@You:\nmail@¦",
        "@You:\n\\@¦",
        "@You:\nword¦",
        "@You:\nword ¦",
        "@Assistant:\nsee @./¦",
        "@Assistant:\nsee @ba¦",
        "@System:\nsee @ba¦",
        "@Assistant:\n<thinking>\n@¦\n</thinking>",
        "@Assistant:\n**Tool Use:** `bash` (`t1`)\n\n```json\n{\"command\": \"@./¦\"}\n```",
        "@You:\n**Tool Result:** `t1`\n\n```\n@./¦\n```",
        "text before the first message @./¦",
        "¦@You:\nhello",
    ] {
        let found = offer(&chat, text);
        assert!(found.found.is_none(), "{text}: {:?}", found.words());
    }
    // A role marker may follow in every message.
    assert_eq!(offer(&chat, "@Assistant:\n@Y¦").fitting(), ["You:"]);
    assert_eq!(offer(&chat, "@Assistant:\n@Y¦").words().len(), 3);
}

#[test]
fn groups_are_offered_and_what_is_switched_off_is_not() {
    let options = json!({ "tools": { "bash": { "enabled": false } } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    let fields = json!({ "description": "Finds things.", "tools": ["grep", "find"] });
    chat.workspace.tools.register_group("search", fields.as_object().unwrap()).unwrap();
    let found = offer(&chat, "@You:\n@¦");
    let group = found.item("search");
    assert_eq!(group.kind, ItemKind::Group);
    assert_eq!(group.documentation, "Finds things.\n\nTools: `grep`, `find`.");
    assert!(!found.words().contains(&"bash"));
    // A file's list may have it all the same.
    let found = offer(&chat, "```lua\nflemma.opt.tools = { \"¦\n```\n\n@You:\n");
    assert!(found.words().contains(&"bash") && found.words().contains(&"$search"), "{:?}", found.words());
}

#[test]
fn a_busy_conversation_offers_nothing() {
    let gate = Gate::new();
    let chat = Harness::new("@You:\nHello @", [held("a", &gate, "b")]);
    let column = "Hello @".len();
    assert!(super::ask(&chat, 1, column).is_some());
    chat.go();
    chat.drain_until("the request", |chat| chat.conversation().is_busy());
    assert!(super::ask(&chat, 1, column).is_none());
    gate.open();
    chat.wait_for("ab");
}

#[test]
fn a_text_that_is_not_parsed_yet_offers_nothing() {
    let chat = with_files(&[]);
    let text = format!("@You:\n{}@\n", "line\n".repeat(5_000));
    chat.put("long.chat", &text);
    let buffer = chat.load("long.chat");
    chat.workspace.attach(buffer);
    assert!(super::ask(&chat, 5_001, 1).is_none());
    while chat.workspace.parse_on(buffer) {}
    assert!(super::ask(&chat, 5_001, 1).is_some());
}

#[test]
fn undo_offers_the_calls_that_may_have_changed_files() {
    let call = |id: &str, tool: &str| format!("**Tool Use:** `{tool}` (`{id}`)\n\n```json\n{{}}\n```\n\n");
    let text = format!("@Assistant:\n{}{}{}", call("t1", "write"), call("t2", "read"), call("t3", "edit"));
    let chat = Harness::new(&text, []);
    assert_eq!(chat.workspace.undo.writing_calls(&chat.conversation()), ["t3", "t1"]);
}
