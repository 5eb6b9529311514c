//! Definitions of the two later eras.

use super::{results, seen, text, with_calls};

const TOOLS: &str = include_str!("eras.lua");

/// Registers them.
pub(super) fn lua() -> String {
    format!("{TOOLS}\nassert(require('flemma.compat.codecompanion').setup(tools))")
}

fn good(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

fn bad(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

#[test]
fn functions_of_both_later_eras_run_as_their_authors_expect() {
    let calls = [
        text("b_count", "four"),
        text("b_point", "2"),
        text("b_point", "3"),
        text("b_paths", "bad"),
        text("b_paths", "good"),
        text("c_search", "x"),
        text("c_inline", "here"),
        text("c_more", "y"),
        text("e_either", "z"),
    ];
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", &lua(), &[]);
    let found = results(&mut chat);
    assert_eq!(
        found,
        [
            good("found 4\n\nfound success 8"),
            good("(1, 2) 1"),
            good("(1, 3) 2"),
            bad("sorry: there is no bad 0"),
            good("there is good"),
            good("one x, two\n\nfor x"),
            good("{\"before\":true,\"said\":\"here\"}"),
            good("c_more 2 one y"),
            good("z 1 success\n\nz! 2 success"),
        ]
    );
    let seen = seen(&mut chat);
    // All calls are prepared before they are decided about.
    let noted: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(
        noted,
        [
            "setup b_count success four",
            "c setup c_search",
            "c setup c_more",
            "e true",
            "b_count b_count table nil",
            "success four 1",
            "success four 2",
            "exit success 2",
            "c exit 1",
            "c exit 1",
        ]
    );
    let tools = chat.server.requests()[0].json()["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "b_count").unwrap().clone();
    assert_eq!(tool["description"], "Does b_count.\n\nUse b_count for every text.");
    assert_eq!(tool["input_schema"]["properties"]["text"]["type"], "string");
}
