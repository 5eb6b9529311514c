//! Setting and deleting keys of the frontmatter.

use flemma_notes::frontmatter::{self, Update};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn update(set: Value, delete: &[&str]) -> Update {
    let Value::Object(set) = set else { panic!("{set}") };
    Update { set, delete: delete.iter().map(|&key| key.to_owned()).collect() }
}

fn run(text: &str, set: Value, delete: &[&str]) -> String {
    String::from_utf8(frontmatter::update(text.as_bytes(), &update(set, delete)).unwrap()).unwrap()
}

fn err(text: &str, set: Value, delete: &[&str]) -> String {
    frontmatter::update(text.as_bytes(), &update(set, delete)).unwrap_err().to_string()
}

const TEXT: &str = "---\n# about\ntitle: \"A: b\" # the title\ntags:\n  - one\n  # two is gone\n  - three\n\n# people\nauthor: {name: x, born: 1990}\nnote: |\n  text\n\n  more\n\nempty:\n'quoted key': 'x'\n---\n\nBody\n";

#[test]
fn the_order_the_comments_and_the_rest_stay() {
    let table = [
        (json!({ "title": "C" }), "title: \"A: b\" # the title", "title: C # the title"),
        (json!({ "title": ["a", 1] }), "title: \"A: b\" # the title", "title: [a, 1] # the title"),
        (json!({ "title": { "x": 1 } }), "title: \"A: b\" # the title", "title: # the title\n  x: 1"),
        (json!({ "tags": ["a", "b"] }), "  - one\n  # two is gone\n  - three", "  - a\n  - b"),
        (json!({ "tags": "x" }), "tags:\n  - one\n  # two is gone\n  - three", "tags: x"),
        (json!({ "author": "me" }), "author: {name: x, born: 1990}", "author: me"),
        (json!({ "note": "short" }), "note: |\n  text\n\n  more", "note: short"),
        (json!({ "empty": "full" }), "empty:", "empty: full"),
        (json!({ "quoted key": true }), "'quoted key': 'x'", "'quoted key': true"),
        (json!({ "new": "2026-01-02" }), "'quoted key': 'x'\n", "'quoted key': 'x'\nnew: 2026-01-02\n"),
        (json!({ "a b": "yes" }), "'quoted key': 'x'\n", "'quoted key': 'x'\na b: \"yes\"\n"),
        (json!({ "nn": null }), "'quoted key': 'x'\n", "'quoted key': 'x'\nnn:\n"),
        (
            json!({ "nn": { "a": { "b": [1, 2] }, "c": [{ "d": 1 }] } }),
            "'quoted key': 'x'\n",
            "'quoted key': 'x'\nnn:\n  a:\n    b: [1, 2]\n  c:\n    - {d: 1}\n",
        ),
        (json!({ "t": "a\nb" }), "'quoted key': 'x'\n", "'quoted key': 'x'\nt: \"a\\nb\"\n"),
    ];
    for (set, old, new) in table {
        assert_eq!(run(TEXT, set.clone(), &[]), TEXT.replacen(old, new, 1), "{set}");
        let crlf = TEXT.replace('\n', "\r\n");
        assert_eq!(run(&crlf, set.clone(), &[]), TEXT.replacen(old, new, 1).replace('\n', "\r\n"), "{set}");
    }
}

#[test]
fn keys_are_deleted_with_their_lines() {
    let table = [
        ("title", "title: \"A: b\" # the title\n"),
        ("tags", "tags:\n  - one\n  # two is gone\n  - three\n"),
        ("note", "note: |\n  text\n\n  more\n"),
        ("empty", "empty:\n"),
        ("quoted key", "'quoted key': 'x'\n"),
    ];
    for (key, lines) in table {
        assert_eq!(run(TEXT, json!({}), &[key]), TEXT.replacen(lines, "", 1), "{key}");
    }
    assert_eq!(run("---\na: 1\n---\n", json!({}), &["a"]), "---\n---\n");
    assert_eq!(run("---\na: 1\nb: 2\nc: 3\n---\n", json!({ "d": 4 }), &["a", "c"]), "---\nb: 2\nd: 4\n---\n");
}

#[test]
fn a_page_without_frontmatter_gets_one() {
    assert_eq!(run("Body", json!({ "a": 1 }), &[]), "---\na: 1\n---\nBody");
    assert_eq!(run("", json!({ "a": [] }), &[]), "---\na: []\n---\n");
    assert_eq!(run("\u{feff}Body\r\n", json!({ "a": {} }), &[]), "\u{feff}---\r\na: {}\r\n---\r\nBody\r\n");
    assert_eq!(run("---\n# only a comment\n---\n", json!({ "a": 1 }), &[]), "---\n# only a comment\na: 1\n---\n");
    for end in ["\n", "\r\n", "\r"] {
        let page = |text: &str| text.replace('\n', end);
        assert_eq!(run(&page("---\n---\nBody\n"), json!({ "a": 1 }), &[]), page("---\na: 1\n---\nBody\n"), "{end:?}");
    }
    assert_eq!(run("---\r\n---\r\nBody\n", json!({ "a": 1 }), &[]), "---\r\na: 1\r\n---\r\nBody\n");
}

#[test]
fn what_cannot_be_changed_is_an_error() {
    let table = [
        ("x", json!({}), vec!["a"], "The frontmatter has no key `a`. It has no keys. Nothing was changed."),
        (
            "---\nb: 1\n---\n",
            json!({}),
            vec!["a"],
            "The frontmatter has no key `a`. The keys are `b`. Nothing was changed.",
        ),
        ("x", json!({}), vec![], "There is nothing to change: give `set` or `delete`."),
        ("x", json!({ "a": 1 }), vec!["a"], "`a` is both in `set` and in `delete`."),
        ("---\n{a: 1}\n---\n", json!({ "a": 2 }), vec![], "The frontmatter is written in braces"),
        (
            "---\n- a\n---\n",
            json!({ "a": 2 }),
            vec![],
            "The frontmatter cannot be read as YAML: it is not a table of keys and values.",
        ),
        ("---\na: [\n---\n", json!({ "a": 2 }), vec![], "The frontmatter cannot be read as YAML: line "),
        ("---\na: 1\na: 2\n---\n", json!({ "a": 3 }), vec![], "`a` occurs more than once"),
        ("---\na: 1\nb: 1\n\"a\": 2\n---\n", json!({ "b": 3 }), vec![], "`a` occurs more than once"),
        ("---\na: 1\nb: 1\na: 2\n---\n", json!({}), vec!["b"], "`a` occurs more than once"),
        ("---\n? a\n: 1\n---\n", json!({ "a": 3 }), vec![], "`a` is written in a form"),
        ("---\na: &x 1\nb: *x\n---\n", json!({}), vec!["a"], "`a` cannot be changed without changing something else."),
    ];
    for (text, set, delete, expected) in table {
        let found = err(text, set, &delete);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
    let bytes = b"---\na: \xff\n---\n";
    assert!(frontmatter::update(bytes, &update(json!({ "b": 1 }), &[])).is_err());
}

#[test]
fn tags_are_read_from_lists_and_texts() {
    let tags = |text: &str| frontmatter::tags(&frontmatter::values(format!("---\n{text}\n---\n").as_bytes()).unwrap());
    assert_eq!(tags("tags: [a, '#b']"), ["a", "b"]);
    assert_eq!(tags("tags:\n- a\n- b"), ["a", "b"]);
    assert_eq!(tags("tags: a, b c"), ["a", "b", "c"]);
    assert_eq!(tags("tag: a"), ["a"]);
    assert_eq!(tags("other: a"), [""; 0]);
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just(String::new()),
        "[ -~]{0,12}",
        "\\PC{0,6}",
        prop::sample::select(vec![
            "yes",
            "null",
            "~",
            "1",
            "1.5",
            "0x1f",
            "- a",
            "a: b",
            "a #b",
            "#a",
            "'",
            "\"",
            "a\nb",
            " x ",
            "*a",
            "&a",
            "!t",
            "|",
            ">",
            "%",
            "@",
            "`",
            "{",
            "[",
            "2026-01-02",
            "---",
            "...",
            "a\u{85}b",
            "\u{feff}",
            "\t",
            "12:30",
            "🙂"
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1000_i32..1000).prop_map(|number| Value::from(f64::from(number) / 8.0)),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z: #]{1,5}", inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn yaml() -> impl Strategy<Value = String> {
    let entry = prop::sample::select(vec![
        "# comment\n",
        "\n",
        "a: 1\n",
        "b: 'x' # why\n",
        "c:\n  - 1\n  # in\n  - {x: y}\n",
        "d: |\n  text\n   more\n",
        "e:\n",
        "f: >-\n  folded\n  text\n\n",
        "g:\n  h: 1\n  i:\n  - 2\n",
        "\"j k\": [1,\n  2]\n",
        "l: multi\n  line\n",
        "ü: ~ # null\n",
        "m: # list\n- 1\n- 2\n",
    ]);
    prop::collection::btree_set(entry, 0..8).prop_map(|entries| entries.into_iter().collect::<String>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_value_that_is_set_is_read_back(yaml in yaml(), key in prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "j k", "l", "ü", "m", "z", "x y", "no"]), value in value()) {
        let text = format!("---\n{yaml}---\nBody\n");
        let before = frontmatter::values(text.as_bytes()).unwrap();
        let set = Map::from_iter([(key.to_owned(), value.clone())]);
        let changed = frontmatter::update(text.as_bytes(), &Update { set, delete: Vec::new() });
        let changed = changed.map_err(|error| TestCaseError::fail(format!("{error}\n{text}\n{value}")))?;
        prop_assert!(changed.ends_with(b"---\nBody\n"));
        let mut after = frontmatter::values(&changed).unwrap();
        let found = after.remove(key).unwrap();
        prop_assert!(found == value || found.to_string().replace(".0", "") == value.to_string().replace(".0", ""), "{} {}", found, value);
        let mut others = before.clone();
        others.shift_remove(key);
        prop_assert_eq!(&after, &others);
        // The lines of the other keys, and all comments between keys, are as they were and in their order.
        let changed = String::from_utf8(changed).unwrap();
        if before.contains_key(key) {
            let deleted = frontmatter::update(changed.as_bytes(), &update(json!({}), &[key])).unwrap();
            let expected = frontmatter::update(text.as_bytes(), &update(json!({}), &[key])).unwrap();
            prop_assert_eq!(String::from_utf8(deleted).unwrap(), String::from_utf8(expected).unwrap());
        } else {
            let deleted = frontmatter::update(changed.as_bytes(), &update(json!({}), &[key])).unwrap();
            prop_assert_eq!(String::from_utf8(deleted).unwrap(), text);
        }
    }
}
