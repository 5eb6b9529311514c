//! What the user sees of a call that waits.

use flemma_model::ToolInput;
use flemma_tools::{Registry, preview};
use serde_json::{Value, json};

fn shown(name: &str, input: Value, width: usize) -> String {
    let registry = Registry::with_builtins();
    preview::call(registry.get(name).map(AsRef::as_ref), name, &ToolInput::Json(input), width)
}

#[test]
fn every_built_in_tool_has_its_own_words() {
    let table = [
        ("bash", json!({ "command": "make test", "label": "running tests" }), "bash: $ make test  # running tests"),
        ("bash", json!({ "command": "git status", "label": "checking repo" }), "bash: $ git status  # checking repo"),
        ("bash", json!({ "command": "ls", "label": null, "timeout": 5 }), "bash: $ ls"),
        (
            "read",
            json!({ "path": "src/config.lua", "offset": 0, "limit": 50, "label": "reading config" }),
            "read: src/config.lua  +0,50  # reading config",
        ),
        (
            "read",
            json!({ "path": "config.lua", "offset": 100, "limit": 50, "label": "reading tail" }),
            "read: config.lua  +100,50  # reading tail",
        ),
        ("read", json!({ "path": "config.lua", "offset": null, "limit": 50 }), "read: config.lua  +0,50"),
        ("read", json!({ "path": "config.lua", "offset": 100 }), "read: config.lua  +100"),
        ("read", json!({ "path": "config.lua" }), "read: config.lua"),
        ("edit", json!({ "path": "config.lua", "label": "fixing typo" }), "edit: config.lua  # fixing typo"),
        (
            "write",
            json!({ "path": "output.txt", "content": "x".repeat(2355), "label": "saving log" }),
            "write: output.txt  (2.3 KB)  # saving log",
        ),
        ("calculator", json!({ "expression": "2 + 2" }), "calculator: 2 + 2"),
        ("calculator_async", json!({ "expression": "sqrt(16)", "delay": 500 }), "calculator_async: sqrt(16)  # 500ms"),
        ("calculator_async", json!({ "expression": "sqrt(16)", "delay": null }), "calculator_async: sqrt(16)"),
        (
            "grep",
            json!({ "pattern": "fn \\w+", "path": "src", "glob": "*.rs", "label": "functions" }),
            "grep: /fn \\w+/ in src  *.rs  # functions",
        ),
        ("grep", json!({ "pattern": "todo", "path": null, "glob": null, "label": null }), "grep: /todo/"),
        ("grep", json!({ "pattern": "a.b(", "path": "x.c", "fixed_strings": true }), "grep: \"a.b(\" in x.c"),
        ("find", json!({ "pattern": "*.rs", "path": "src", "label": "sources" }), "find: *.rs in src  # sources"),
        ("find", json!({ "pattern": "**/test_*.py", "path": null }), "find: **/test_*.py"),
        ("ls", json!({ "path": "src/tools", "label": "layout" }), "ls: src/tools  # layout"),
        ("ls", json!({ "path": null, "limit": 5 }), "ls: ."),
        ("ask_user", json!({ "question": "Which one?", "options": null }), "ask_user: Which one?"),
        (
            "ask_user",
            json!({ "question": "Which\none?", "options": ["red", "green"], "default": "red" }),
            "ask_user: Which⤶one?  (1: red, 2: green)",
        ),
        ("ask_user", json!({ "question": 3 }), "ask_user: question=3"),
    ];
    for (name, input, expected) in table {
        assert_eq!(shown(name, input, 80), expected);
    }
}

#[test]
fn a_call_with_nothing_to_preview_shows_its_name_alone() {
    for input in [json!({}), json!({ "a": null }), json!({ "a": null, "b": null })] {
        assert_eq!(shown("of_mine", input.clone(), 80), "of_mine", "{input}");
        assert_eq!(shown("of_mine", input, 4), "of_…");
    }
    assert_eq!(preview::call(None, "of_mine", &ToolInput::Malformed(" \n".to_owned()), 80), "of_mine");
    for body in ["", " ", "\n\t"] {
        assert_eq!(preview::line("of_mine", body, 80), "of_mine", "what a tool's own preview says");
    }
}

#[test]
fn a_tool_without_words_lists_its_arguments() {
    let input = json!({ "filters": { "since": 1, "author": "x" }, "query": "a b", "ids": [1, 2], "limit": 3 });
    let expected = r#"my_search: limit=3, query="a b", filters={author="x", since=1}, ids=[2 items]"#;
    assert_eq!(shown("my_search", input, 200), expected);
    assert_eq!(shown("my_search", json!({}), 200), "my_search");
}

#[test]
fn a_table_shows_its_values_but_none_within_them() {
    let action = json!({ "action": { "left": 1, "operation": "add", "right": { "deep": 2 } } });
    assert_eq!(shown("of_mine", action, 80), r#"of_mine: action={left=1, operation="add", right=…}"#);
    let wide: serde_json::Map<String, Value> = (0..50_000).map(|at| (format!("key{at}"), json!(at))).collect();
    assert!(shown("of_mine", json!({ "action": wide }), 40).ends_with('…'));
}

#[test]
fn a_question_that_does_not_fit_has_its_options_below_it() {
    let registry = Registry::with_builtins();
    let asked = |input: Value, width| {
        let definition = registry.get("ask_user").map(AsRef::as_ref);
        preview::lines(definition, "ask_user", &ToolInput::Json(input), width)
    };
    let input = json!({ "question": "Which of these two?", "options": ["the red one", "the green one"] });
    assert_eq!(asked(input.clone(), 80), None, "one line is enough");
    let expected = ["ask_user: Which of these", "  two?", "  1: the red one", "  2: the green one"];
    assert_eq!(asked(input.clone(), 26).unwrap(), expected);
    for width in 1..60 {
        for line in asked(input.clone(), width).into_iter().flatten() {
            assert!(unicode_width::UnicodeWidthStr::width(line.as_str()) <= width, "{width}: {line}");
        }
    }
    let many: Vec<String> = (0..40).map(|at| format!("option {at}")).collect();
    let lines = asked(json!({ "question": "Which?", "options": many }), 40).unwrap();
    assert_eq!(lines.last().unwrap(), "  … 28 more");
}

#[test]
fn an_input_that_a_tool_cannot_read_is_listed_too() {
    assert_eq!(shown("bash", json!({ "cmd": "ls" }), 80), r#"bash: cmd="ls""#);
    assert_eq!(shown("bash", json!({ "command": 5 }), 80), "bash: command=5");
    let malformed = ToolInput::Malformed("{\"command\": \"ls".into());
    assert_eq!(preview::call(None, "bash", &malformed, 80), "bash: {\"command\": \"ls");
}

#[test]
fn newlines_and_width_are_shown_on_one_line() {
    assert_eq!(shown("bash", json!({ "command": "cd src\nls" }), 80), "bash: $ cd src⤶ls");
    assert_eq!(shown("bash", json!({ "command": "echo 1234567890" }), 16), "bash: $ echo 12…");
    assert_eq!(shown("bash", json!({ "command": "echo 日本語" }), 16), "bash: $ echo 日…");
}

#[test]
fn a_call_with_a_whole_file_in_it_costs_a_line() {
    let input = json!({ "text": "x\n".repeat(20 << 20) });
    let started = std::time::Instant::now();
    assert!(shown("other", input, 80).ends_with('…'));
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}
