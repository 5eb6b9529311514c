//! Options in frontmatter that is JSON.

use flemma_config::{Node, buffer};
use flemma_workspace::ItemKind;

use super::{Offer, offer, with_files};
use crate::workspace::harness::Harness;

/// What is offered in this code.
fn code(chat: &Harness, code: &str) -> Offer {
    offer(chat, &format!("```json\n{code}\n```\n\n@You:\nHello"))
}

#[test]
fn an_option_is_offered_in_its_table() {
    let chat = with_files(&[]);
    for (path, node) in buffer::known() {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", &path));
        let opened: String =
            table.split('.').filter(|part| !part.is_empty()).map(|part| format!("\"{part}\": {{")).collect();
        for first in ["", "\"max_tokens\": [1, {\"a\": \"}\"}], ", "\n  \"x\\\"\": true,\n  "] {
            for typed in [0, 1, name.len()] {
                let found = code(&chat, &format!("{{{opened}{first}\"{}¦", &name[..typed]));
                assert!(found.words().contains(&name), "{path}: {:?}", found.words());
                assert_eq!(found.replaces(), (&name[..typed], ""));
                let kind = if node == Node::Table { ItemKind::Table } else { ItemKind::Option };
                assert_eq!(found.item(name).kind, kind, "{path}");
            }
        }
    }
    assert_eq!(code(&chat, "{ thi¦ }").taken("\"thinking\""), "{ \"thinking\" }");
}

#[test]
fn values_and_the_entries_of_lists_are_offered() {
    let chat = with_files(&[]);
    assert_eq!(code(&chat, "{ \"thinking\": \"hi¦\" }").fitting(), ["high"]);
    let words = ["false", "\"minimal\"", "\"low\"", "\"medium\"", "\"high\"", "\"max\""];
    assert_eq!(code(&chat, "{ \"thinking\": ¦").words(), words);
    assert_eq!(code(&chat, "{ \"tools\": { \"autopilot\": t¦").fitting(), ["true"]);
    for before in [
        "{ \"tools\": [\"",
        "{ \"tools\": [\n  \"read\",\n  \"",
        "{ \"tools\": { \"remove\": [\"",
        "{ \"tools\": { \"remove\": \"",
        "{ \"thinking\": \"low\", \"tools\": { \"set\": [\"read\", \"",
    ] {
        let found = code(&chat, &format!("{before}ba¦\"] }}"));
        assert_eq!(found.fitting(), ["bash"], "{before}");
    }
    let found = code(&chat, "{ \"tools\": { \"auto_approve\": { \"append\": [\"$¦\"] } } }");
    assert_eq!(found.fitting(), ["$default", "$readonly"]);
    let found = code(&chat, "{ \"tools\": { \"¦\" } }");
    for operation in ["set", "append", "prepend", "remove"] {
        assert_eq!(found.item(operation).kind, ItemKind::Operation);
    }
    assert!(!found.words().contains(&"get") && found.words().contains(&"auto_approve"));
}

#[test]
fn other_places_offer_nothing() {
    let chat = with_files(&[]);
    for text in [
        "¦",
        "{ \"thinking\": \"low\" ¦",
        "{ \"unknown\": \"¦",
        "{} ¦",
        "\"¦",
        "{ \"x\n\": \"¦",
        "{ \"max_tokens\": 1¦",
    ] {
        let found = code(&chat, text);
        assert!(found.found.is_none(), "{text}: {:?}", found.words());
    }
}
