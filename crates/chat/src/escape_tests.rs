use proptest::prelude::*;

use super::*;

/// Lines that start like structure, or nearly, behind any number of backslashes.
fn line() -> impl Strategy<Value = String> {
    let opener = prop::sample::select(OPENERS.to_vec()).prop_map(str::to_owned);
    let fence = "( ){0,4}(`{2,5}|~{2,5})( )?(flemma:tool|flemma|rust|)";
    (0_usize..4, prop_oneof![opener, fence, "[ -~]{0,12}", "\\PC{0,8}"], "[ -~]{0,8}")
        .prop_map(|(backslashes, start, rest)| format!("{}{start}{rest}", "\\".repeat(backslashes)))
}

#[test]
fn structure_gets_a_backslash_and_prose_none() {
    for opener in OPENERS {
        assert_eq!(escape(opener), format!("\\{opener}"));
    }
    assert_eq!(escape("  ~~~ flemma:tool status=approved"), "\\  ~~~ flemma:tool status=approved");
    for plain in ["", "@you:", " @You:", "**Tool**", "<think>", "```rust", "    ```flemma:tool", "\\n"] {
        assert_eq!(escape(plain), plain);
    }
}

#[test]
fn only_the_backslash_of_an_escaped_line_is_taken_off() {
    assert_eq!(unescape("\\@You: hi"), "@You: hi");
    assert_eq!(unescape("\\\\@You: hi"), "\\@You: hi");
    assert_eq!(unescape("\\alpha"), "\\alpha");
    assert_eq!(unescape("@You:"), "@You:");
}

proptest! {
    #[test]
    fn unescape_undoes_escape(line in line()) {
        let escaped = escape(&line).into_owned();
        prop_assert_eq!(unescape(&escaped), &line);
    }

    #[test]
    fn a_verdict_on_a_beginning_holds_for_the_whole_line(line in line()) {
        let whole = classify(&line);
        for (end, _) in line.char_indices() {
            match classify(&line[..end]) {
                LinePrefix::Undecided => {}
                early => prop_assert_eq!(early == LinePrefix::Structure, whole == LinePrefix::Structure, "at {}", end),
            }
        }
    }
}
