//! Errors say by their type who has to act on them. A plain text does not: it can be shown to anybody.

use std::collections::BTreeMap;

use crate::exports::sources;

/// Files whose private functions give a part of a sentence, which their caller in the same file completes, and how often.
/// The list may only shrink: a number that is too large fails the test.
const PARTS: [(&str, usize); 3] =
    [("src/nvim/convert.rs", 2), ("src/nvim/lua_tools.rs", 1), ("crates/runtime/src/attachments.rs", 2)];

/// The layer that has a type for the errors of requests, and is not held to the rule yet.
const EXEMPT: &str = "crates/provider";

/// How often a source says `Result<_, String>` outside comments.
fn texts_as_errors(source: &str) -> usize {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join(" ");
    let code = code.replace("->", "").replace("=>", "");
    code.match_indices("Result<").filter(|(at, found)| is_text(&code[at + found.len()..])).count()
}

/// Whether the second argument of the type whose arguments begin here is `String`.
fn is_text(arguments: &str) -> bool {
    let (mut depth, mut begin, mut found) = (0_usize, 0, Vec::new());
    for (at, sign) in arguments.char_indices() {
        match sign {
            '>' if depth == 0 => {
                found.push(arguments[begin..at].trim());
                break;
            }
            ',' if depth == 0 => {
                found.push(arguments[begin..at].trim());
                begin = at + 1;
            }
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found.get(1) == Some(&"String")
}

#[test]
fn no_error_is_a_plain_text() {
    let mut wrong = Vec::new();
    let mut left = BTreeMap::from(PARTS);
    for (file, source) in sources("src", "rs").into_iter().chain(sources("crates", "rs")) {
        if file.starts_with(EXEMPT) || file.contains("/tests/") {
            continue;
        }
        let found = texts_as_errors(&source);
        let allowed = left.remove(file.as_str()).unwrap_or_default();
        if found != allowed {
            wrong.push(format!("{file}: {found} in place of {allowed}"));
        }
    }
    wrong.extend(left.into_keys().map(|file| format!("{file} is gone: remove it from the list")));
    assert!(wrong.is_empty(), "`Result<_, String>` says nothing of who has to act:\n{}", wrong.join("\n"));
}

#[test]
fn texts_as_errors_are_found_in_any_layout() {
    for source in [
        "fn f() -> Result<(), String> {",
        "fn f() -> Result<\n    Vec<(String, u8)>,\n    String,\n> {",
        "type F = Box<dyn Fn(&str) -> Result<Option<String>, String>>;",
    ] {
        assert_eq!(texts_as_errors(source), 1, "{source}");
    }
    for source in ["// Result<(), String>", "fn f() -> Result<String, UserError> {", "fn f() -> mlua::Result<String> {"]
    {
        assert_eq!(texts_as_errors(source), 0, "{source}");
    }
}
