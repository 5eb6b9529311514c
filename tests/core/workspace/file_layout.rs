//! How files are read without an editor, and written again.

use flemma_workspace::{FileLayout, LineBreak};
use proptest::prelude::*;

#[test]
fn line_breaks_marks_and_ends_are_told_apart() {
    let read = |text: &str| FileLayout::read(text.as_bytes()).unwrap();
    let lines = |text: &str| read(text).1;
    assert_eq!(lines(""), [""]);
    assert_eq!(lines("\n"), [""]);
    assert_eq!(lines("a\nb\n"), ["a", "b"]);
    assert_eq!(lines("a\r\nb\r\n"), ["a", "b"]);
    assert_eq!(lines("a\r\nb\r"), ["a", "b\r"], "the last line has no line break");
    assert_eq!(lines("a\r\nb\n"), ["a\r", "b"], "as Neovim reads it");
    assert_eq!(lines("\u{feff}a"), ["a"]);
    assert_eq!(read("a\r\n").0.line_break, LineBreak::Dos);
    assert!(read("").0.is_empty && !read("\n").0.is_empty);
    assert!(FileLayout::read(b"a\xff").is_err());
}

proptest! {
    #[test]
    fn a_file_that_is_read_and_written_is_the_same(text in "(\u{feff})?([ab\u{0}ü]|\r|\n|\r\n){0,12}") {
        let (layout, lines) = FileLayout::read(text.as_bytes()).unwrap();
        let pieces: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        let bytes = layout.bytes(pieces.iter().map(|piece| piece.as_bytes()));
        prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }
}
