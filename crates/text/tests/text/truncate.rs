//! Cutting text to size.

use flemma_text::truncate::{Limit, Limits, Truncation, count_lines, format_size, truncate_head, truncate_tail};
use proptest::prelude::*;

fn limits(lines: usize, bytes: usize) -> Limits {
    Limits { lines, bytes }
}

/// Text with everything that could go wrong: both line breaks, wide characters, NULs, empty lines.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof!["[a-z]{0,6}", Just("\n".into()), Just("\r\n".into()), Just("é日𝄞\0".into())],
        0..40,
    )
    .prop_map(|pieces: Vec<String>| pieces.concat())
}

#[test]
fn what_counts_as_a_line() {
    for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("\n", 1), ("a\nb", 2), ("a\r\n\r\n", 2)] {
        assert_eq!(count_lines(text.as_bytes()), lines, "{text:?}");
    }
}

#[test]
fn the_head_keeps_the_first_lines() {
    let head = truncate_head("1\n2\n3\n4\n", limits(2, 100));
    assert_eq!((&*head.content, head.truncated_by), ("1\n2", Some(Limit::Lines)));
    assert_eq!((head.total_lines, head.total_bytes, head.output_lines, head.output_bytes), (4, 8, 2, 3));
}

#[test]
fn the_tail_keeps_the_last_lines() {
    let tail = truncate_tail("1\r\n2\r\n3\r\n", limits(2, 100));
    assert_eq!((&*tail.content, tail.truncated_by), ("2\r\n3\r", Some(Limit::Lines)));
    let tail = truncate_tail("aaaa\nbb\ncc", limits(9, 6));
    assert_eq!((&*tail.content, tail.truncated_by, tail.output_lines), ("bb\ncc", Some(Limit::Bytes), 2));
}

#[test]
fn one_line_over_the_limit_is_said() {
    let head = truncate_head("abcdef\nx\n", limits(9, 5));
    assert_eq!((&*head.content, head.first_line_exceeds_limit, head.output_lines), ("", true, 0));
    let tail = truncate_tail("x\nabcdé", limits(9, 3));
    assert_eq!((&*tail.content, tail.last_line_partial, tail.output_lines), ("dé", true, 1));
    assert_eq!(truncate_tail("日", limits(9, 2)).content, "");
}

#[test]
fn what_fits_comes_back_byte_for_byte() {
    for text in ["", "\n", "a\r\nb\r\n", "no newline"] {
        for cut in [truncate_head(text, Limits::default()), truncate_tail(text, Limits::default())] {
            assert_eq!((&*cut.content, cut.truncated, cut.truncated_by), (text, false, None));
        }
    }
}

#[test]
fn a_final_newline_alone_is_no_reason_to_cut() {
    let head = truncate_head("abc\n", limits(1, 3));
    assert_eq!((&*head.content, head.truncated), ("abc", false));
}

#[test]
fn sizes_are_written_as_people_write_them() {
    let table = [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (12_345, "12.1 KB"),
        (51_200, "50.0 KB"),
        (1_048_575, "1.0 MB"),
        (3 << 30, "3.0 GB"),
    ];
    for (bytes, text) in table {
        assert_eq!(format_size(bytes), text);
    }
}

proptest! {
    #[test]
    fn a_cut_text_is_whole_lines_within_the_limits(text in text(), lines in 0usize..12, bytes in 0usize..60) {
        let limits = limits(lines, bytes);
        for (cut, is_head) in [(truncate_head(&text, limits), true), (truncate_tail(&text, limits), false)] {
            prop_assert!(cut.output_bytes <= bytes && cut.output_lines <= lines.max(usize::from(cut.last_line_partial)));
            prop_assert_eq!(cut.output_bytes, cut.content.len());
            prop_assert_eq!(cut.total_lines, count_lines(text.as_bytes()));
            prop_assert_eq!(cut.total_bytes, text.len());
            prop_assert_eq!(cut.truncated, cut.truncated_by.is_some());
            let body = text.strip_suffix('\n').unwrap_or(&text);
            if !cut.truncated {
                prop_assert!(cut.content == text || cut.content == body);
            } else if cut.last_line_partial {
                prop_assert!(body.ends_with(&*cut.content) && !cut.content.contains('\n'));
            } else if is_head {
                let rest = body.strip_prefix(&*cut.content).unwrap();
                prop_assert!(cut.output_lines == 0 || rest.starts_with('\n'));
            } else {
                let rest = body.strip_suffix(&*cut.content).unwrap();
                prop_assert!(cut.output_lines == 0 || rest.ends_with('\n'));
            }
        }
    }

    #[test]
    fn bytes_are_cut_as_the_text_that_they_are_read_as(
        bytes in prop::collection::vec(prop_oneof![
            Just(b'a'), Just(b'\n'), Just(0x80), Just(0xBF), Just(0xC3), Just(0xE2), Just(0x82), Just(0xF0), Just(0x9F), Just(0xFF),
        ], 0..60),
        lines in 0usize..12,
        limit in 0usize..60,
    ) {
        let limits = limits(lines, limit);
        let text = String::from_utf8_lossy(&bytes);
        for (of_bytes, of_text) in [
            (truncate_head(&bytes, limits), truncate_head(&*text, limits)),
            (truncate_tail(&bytes, limits), truncate_tail(&*text, limits)),
        ] {
            prop_assert_eq!(of_bytes.total_bytes, bytes.len());
            prop_assert_eq!(of_bytes, Truncation { total_bytes: bytes.len(), ..of_text });
        }
    }

    #[test]
    fn a_cut_text_could_not_be_longer(text in text(), lines in 1usize..12, bytes in 1usize..60) {
        let head = truncate_head(&text, limits(lines, bytes));
        if head.truncated {
            let body = text.strip_suffix('\n').unwrap_or(&text);
            let kept = if head.output_lines == 0 { 0 } else { head.output_bytes + 1 };
            let next = body[kept..].find('\n').map_or(body.len(), |newline| kept + newline);
            prop_assert!(head.output_lines == lines || next > bytes);
        }
    }
}
