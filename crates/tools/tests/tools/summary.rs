//! What a card and a fold say of a call.

use flemma_model::ToolInput;
use flemma_tools::{LineCounts, Registry, Summary};
use serde_json::{Value, json};

fn summary(name: &str, input: Value) -> Summary {
    let registry = Registry::with_builtins();
    Summary::of(registry.get(name).map(|found| &**found), name, &ToolInput::Json(input))
}

fn line(name: &str, input: Value) -> String {
    summary(name, input).line(60)
}

#[test]
fn a_summary_says_what_a_call_is_about() {
    assert_eq!(
        line("read", json!({ "label": "the greeting", "path": "greet.py", "offset": 4, "limit": 3 })),
        "read greet.py 4-6"
    );
    assert_eq!(line("read", json!({ "path": "greet.py", "offset": null, "limit": null })), "read greet.py");
    assert_eq!(line("read", json!({ "path": "greet.py", "offset": 4 })), "read greet.py 4-");
    assert_eq!(line("read", json!({ "path": "greet.py", "limit": 1 })), "read greet.py 1");
    assert_eq!(line("bash", json!({ "label": "tests", "command": "cargo test" })), "bash cargo test");
    assert_eq!(line("write", json!({ "path": "a.rs", "content": "x" })), "write a.rs  (1 B)");
    assert_eq!(line("grep", json!({ "label": "l", "pattern": "fn main" })), "grep /fn main/");
    assert_eq!(line("unknown", json!({ "b": 1, "a": "x" })), "unknown a=\"x\", b=1");
}

#[test]
fn a_summary_counts_the_lines_of_an_edit() {
    let input = json!({ "path": "a.rs", "old_text": "one\ntwo\nthree", "new_text": "one\n2\n3\n4" });
    let found = summary("edit", input);
    assert_eq!(found.changes, Some(LineCounts { added: 3, removed: 2 }));
    assert_eq!(found.line(60), "edit a.rs +3 -2");
    assert_eq!(found.line(13), "edit a… +3 -2", "the counts remain in a narrow window");
}

#[test]
fn a_summary_has_the_label_beside_it() {
    let found = summary("bash", json!({ "label": " what\nfails? ", "command": "make" }));
    assert_eq!((found.label.as_str(), found.what.as_str()), ("what⤶fails?", "make"));
}

#[test]
fn a_summary_is_one_line_whatever_the_input_is() {
    let long = "x\n\u{1b}[31m\u{202e}".repeat(100_000);
    let inputs = [json!({ "command": long, "path": long, "label": long }), json!(long), json!([1, 2]), json!(null)];
    for name in ["bash", "read", "edit", "write", "grep", "no such tool", ""] {
        for input in &inputs {
            let found = summary(name, input.clone());
            let shown = found.line(40) + &found.label + &found.what;
            assert!(!shown.contains(char::is_control) && !shown.contains('\u{202e}'), "{shown:?}");
            assert!(shown.len() < 4096, "{}", shown.len());
        }
    }
    let found = Summary::of(None, "bash", &ToolInput::Malformed("{\"command\": \n".to_owned()));
    assert_eq!(found.line(40), "bash {\"command\":");
}
