use super::{escape_controls, one_line};

#[test]
fn white_space_and_control_characters_become_one_space() {
    assert_eq!(one_line(" a\n\tb\u{1b}c ", 80), "a b c");
}

#[test]
fn a_long_line_is_cut_after_the_limit() {
    assert_eq!(one_line("grüße", 5), "grüße");
    assert_eq!(one_line("grüße an alle", 6), "grüße …");
}

#[test]
fn control_characters_in_a_name_are_escaped() {
    assert_eq!(escape_controls("grüße 日本 \\n"), "grüße 日本 \\n");
    assert_eq!(escape_controls("a\nb\t\u{1b}[0m"), "a\\nb\\t\\u{1b}[0m");
}
