use proptest::prelude::*;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{fit, flatten, generic, line};

#[test]
fn a_cut_never_parts_a_letter_from_its_marks() {
    let text = "e\u{301}e\u{301}e\u{301}e\u{301}";
    assert_eq!(fit(text, 3), "e\u{301}e\u{301}…");
}

#[test]
fn a_wide_character_that_would_stick_out_is_left_out() {
    assert_eq!(fit("日本語日本語", 6), "日本…");
    assert_eq!(fit("日本語", 6), "日本語");
}

#[test]
fn no_room_gives_no_text() {
    assert_eq!(line("bash", "$ ls", 0), "");
    assert_eq!(line("bash", "$ ls", 1), "…");
}

#[test]
fn control_characters_become_visible() {
    assert_eq!(flatten("a\r\nb\nc\td\u{1b}[31m\u{202e}x"), "a⤶b⤶c d␛[31m\u{fffd}x");
}

#[test]
fn scalars_come_first_then_tables_each_sorted() {
    let input = json!({"z": {"k2": 1, "k1": 2}, "b": "text", "list": [1, 2, 3], "a": 4, "ok": true, "none": null});
    assert_eq!(generic(&input, 80), r#"a=4, b="text", ok=true, list=[3 items], z={k1=2, k2=1}"#);
}

proptest! {
    #[test]
    fn a_preview_is_one_line_no_wider_than_the_window(name in "[a-z_]{1,12}", body in any::<String>(), width in 0usize..200) {
        let shown = line(&name, &body, width);
        prop_assert!(shown.width() <= width, "{shown:?} is {} cells wide", shown.width());
        prop_assert!(!shown.contains(['\n', '\r', '\t']));
    }
}
