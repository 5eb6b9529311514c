//! What the user is shown of a change: every difference, in any width.

use std::path::PathBuf;

use flemma_tools::{Bounds, Content, DiffKind, DiffLine, FileChange, Proposal, Review};
use proptest::prelude::*;

/// What is shown of a change of one file.
fn review(old: &[u8], new: &[u8]) -> Review {
    let file = FileChange {
        path: PathBuf::from("/a.txt"),
        name: "a.txt".to_owned(),
        old: Some(Content::new(old.to_vec())),
        new: Some(Content::new(new.to_vec())),
        moved_to: None,
        bounds: Bounds::Writable,
        is_read_only: false,
        is_start_up: false,
        unsaved: None,
    };
    Review::of(&Proposal { files: vec![file], ..Proposal::default() })
}

/// The lines that are drawn, without the heads of hunks.
fn shown(old: &str, new: &str, width: usize) -> Vec<String> {
    let lines = DiffLine::fitted(&review(old.as_bytes(), new.as_bytes()).first_lines(500), width);
    lines.into_iter().filter(|(kind, _)| *kind != DiffKind::Hunk).map(|(_, text)| text).collect()
}

#[test]
fn a_long_line_is_cut_where_it_is_the_same() {
    let start = "the quick brown fox jumps over the lazy dog and then ".repeat(4);
    let (old, new) = (format!("{start}sleeps\n"), format!("{start}wakes up\n"));
    let lines = shown(&old, &new, 40);
    assert_eq!(lines, ["-…ps over the lazy dog and then sleeps", "+…ps over the lazy dog and then wakes up"]);
    // Several changes in one line.
    let of = |one: &str, other: &str| format!("{start}{one}{start}{other}{start}\n");
    let lines = shown(&of("ONE", "TWO"), &of("EINS", "ZWEI"), 60);
    assert!(lines[0].contains("ONE") && lines[0].contains("TWO"), "{lines:?}");
    assert!(lines[1].contains("EINS") && lines[1].contains("ZWEI"), "{lines:?}");
    // A line without a partner is cut at its end.
    assert_eq!(shown("", &format!("{}\n", start.trim_end()), 20), ["+the quick brown fo…"]);
    // One megabyte.
    let start = start.repeat(5000);
    let (old, new) = (format!("{start}1{start}\n"), format!("{start}2{start}\n"));
    let lines = shown(&old, &new, 40);
    assert!(lines[0].contains("then 1the") && lines[1].contains("then 2the"), "{lines:?}");
}

#[test]
fn lines_are_compared_with_those_that_they_resemble() {
    let start = "0123456789".repeat(8);
    let (old, new) = (format!("{start}one\n"), format!("something else\n{start}two\n"));
    let lines = shown(&old, &new, 24);
    assert_eq!(
        lines,
        ["-…0123456789012345678one", "+something else", "+…0123456789012345678two"]
            .map(|line| { line.replace("0123456789012345678", "1234567890123456789") })
    );
}

#[test]
fn what_looks_the_same_is_named() {
    let cases = [
        ("caf\u{e9} au lait", "cafe\u{301} au lait", "-caf<U+00E9> au lait", "+cafe<U+0301> au lait"),
        ("x = 1", "x = 1  ", "-x = 1", "+x = 1··"),
        ("x = 1\t", "x = 1 ", "-x = 1→", "+x = 1·"),
        ("\tx", "    x", "-→x", "+····x"),
        ("a b", "a\u{a0}b", "-a·b", "+a<U+00A0>b"),
        ("ab", "a\u{200b}b", "-ab", "+a<U+200B>b"),
        ("if admin {", "if admin\u{202e} {", "-if admin {", "+if admin<U+202E> {"),
        ("paypal", "p\u{430}ypal", "-paypal", "+p<U+0430>ypal"),
        ("\u{feff}a", "a", "-<U+FEFF>a", "+a"),
        ("a", "\u{1b}[8ma", "-a", "+\u{241b}[8ma"),
        ("a<U+200B>b", "a\u{200b}b", "-a<U+003C>U+200B>b", "+a<U+200B>b"),
    ];
    for (old, new, gone, come) in cases {
        assert_eq!(shown(&format!("{old}\n"), &format!("{new}\n"), 60), [gone, come]);
        assert_eq!(
            shown(&format!("{new}\n"), &format!("{old}\n"), 60),
            [come.replacen('+', "-", 1), gone.replacen('-', "+", 1)]
        );
    }
    // What is readable stays so.
    assert_eq!(shown("привет, мир\n", "пока, мир\n", 60), ["-привет, мир", "+пока, мир"]);
    assert_eq!(shown("👩‍👩‍👧 a\n", "👩‍👩‍👧 b\n", 60), ["-👩‍👩‍👧 a", "+👩‍👩‍👧 b"]);
}

#[test]
fn a_change_of_line_endings_is_said_in_a_note() {
    let unix: String = (1..=240).map(|line| format!("line {line}\n")).collect();
    let dos = unix.replace('\n', "\r\n");
    assert_eq!(shown(&unix, &dos, 80), ["only the line endings change in 240 lines: LF becomes CRLF"]);
    assert_eq!(review(unix.as_bytes(), dos.as_bytes()).lines, Some((240, 240)));
    let both = shown(&dos, &unix.replace("line 9\n", "nine\n"), 120);
    assert_eq!(both[0], "the line endings change in all lines: CRLF becomes LF. These lines change besides");
    assert_eq!(both[1..], [" line 6", " line 7", " line 8", "-line 9", "+nine", " line 10", " line 11", " line 12"]);
    // Where they are the same, nothing is seen of them; where they are mixed, each line shows its own.
    assert_eq!(shown("a\r\nb\r\n", "a\r\nc\r\n", 80), [" a", "-b", "+c"]);
    assert_eq!(shown("a\r\nb\n", "a\nc\n", 80), ["-a␍", "-b", "+a", "+c"]);
}

#[test]
fn the_end_of_the_last_line_is_shown() {
    assert_eq!(shown("a\nb\n", "a\nb", 80), [" a", "-b↵", "+b", "\\ No newline at end of file"]);
    assert_eq!(shown("a\nb", "a\nb\n", 80), [" a", "-b", "\\ No newline at end of file", "+b↵"]);
    // Bytes that are no text.
    let lines = DiffLine::fitted(&review(b"a\xff\n", b"a\xfe\n").first_lines(9), 80);
    assert_eq!(lines[1..], [(DiffKind::Delete, "-a<FF>".to_owned()), (DiffKind::Add, "+a<FE>".to_owned())]);
}

#[test]
fn a_note_is_wrapped() {
    let note = DiffLine::note("the words of a note that is longer than the window is wide");
    let rows: Vec<String> = DiffLine::fitted(&[note], 24).into_iter().map(|(_, row)| row).collect();
    assert_eq!(rows, ["the words of a note that", "is longer than the", "window is wide"]);
}

/// Texts of parts that look alike, or are long.
fn text() -> impl Strategy<Value = String> {
    let long = "0123456789 ".repeat(12);
    let parts = [
        "a",
        "b",
        " ",
        "  ",
        "\t",
        "\u{a0}",
        "\u{200b}",
        "\u{202e}",
        "é",
        "e\u{301}",
        "\u{301}",
        "а",
        "<U+200B>",
        "·",
        "→",
        "…",
        "␍",
        "\r",
        "↵",
        "中",
        "👩‍👩‍👧",
        "\u{feff}",
        "\u{1b}",
        "\n",
        "\n",
        "\r\n",
    ];
    let part = prop_oneof![8 => proptest::sample::select(parts.to_vec()).prop_map(str::to_owned), 1 => Just(long)];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Two texts, the second one often the first one with a small change.
fn pair() -> impl Strategy<Value = (String, String)> {
    (text(), text(), text(), text(), any::<bool>()).prop_map(|(start, one, other, end, is_small)| match is_small {
        true => (format!("{start}{one}{end}"), format!("{start}{other}{end}")),
        false => (one, other),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_difference_is_seen((old, new) in pair(), width in 24_usize..120) {
        prop_assume!(old != new);
        let lines = review(old.as_bytes(), new.as_bytes()).first_lines(500);
        let drawn = DiffLine::fitted(&lines, width);
        let is_note = |kind: DiffKind| kind == DiffKind::Note;
        let bare: Vec<_> = lines.iter().filter(|line| !is_note(line.kind)).collect();
        let drawn_bare: Vec<_> = drawn.iter().filter(|(kind, _)| !is_note(*kind)).collect();
        prop_assert_eq!(bare.len(), drawn_bare.len());
        let of = |kind: DiffKind| -> Vec<(&str, &str)> {
            let both = bare.iter().zip(&drawn_bare).filter(|(line, _)| line.kind == kind);
            both.map(|(line, (_, drawn))| (&line.text[1..], &drawn[1..])).collect()
        };
        let (gone, come) = (of(DiffKind::Delete), of(DiffKind::Add));
        for (raw, line) in &gone {
            for (other_raw, other) in &come {
                prop_assert!(line != other || raw == other_raw, "{:?} and {:?} look like {:?}", raw, other_raw, line);
            }
        }
        let (mut before, mut after): (Vec<&str>, Vec<&str>) =
            (gone.iter().map(|(_, line)| *line).collect(), come.iter().map(|(_, line)| *line).collect());
        before.sort_unstable();
        after.sort_unstable();
        let has_note = drawn.iter().any(|(kind, text)| is_note(*kind) && text.starts_with("only the line endings"));
        prop_assert!(before != after || has_note || gone.iter().map(|(raw, _)| raw).ne(come.iter().map(|(raw, _)| raw)), "{:?}", drawn);
        for (kind, text) in &drawn {
            prop_assert!(unicode_width::UnicodeWidthStr::width(text.as_str()) <= width || is_note(*kind), "{:?}", text);
            let is_hidden = |c: char| c.is_control() || matches!(c, '\u{200b}' | '\u{202e}' | '\u{feff}');
            prop_assert!(!text.contains(is_hidden), "{:?}", text);
        }
    }
}
