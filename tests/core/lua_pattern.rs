//! Lua's patterns in a bounded number of steps. That they find what Lua finds is tested in an editor.

use flemma::lua_pattern::{Capture, Match, PatternError, find};
use proptest::prelude::*;

#[test]
fn a_match_has_its_place_and_its_captures() {
    let found = find(b"key = value", b"(%w+)%s*=()%s*(%w*)", 0, true, 1000).unwrap().unwrap();
    let captures = vec![Capture::Text(0..3), Capture::Position(5), Capture::Text(6..11)];
    assert_eq!(found, Match { range: 0..11, captures });
}

#[test]
fn a_pattern_that_tries_every_combination_is_given_up() {
    let text = "a".repeat(40);
    for pattern in ["a?".repeat(40) + &text, ".-.-.-.-.-.-b".into(), "(.*)(.*)(.*)(.*)(.*)b".into()] {
        assert_eq!(
            find(text.as_bytes(), pattern.as_bytes(), 0, true, 1_000_000),
            Err(PatternError::TooManySteps),
            "{pattern}"
        );
    }
}

#[test]
fn a_pattern_that_nests_deeply_is_an_error() {
    let pattern = "a?".repeat(100_000);
    assert_eq!(find(b"aaa", pattern.as_bytes(), 0, true, u64::MAX), Ok(Some(Match { range: 0..3, captures: vec![] })));
    let pattern = "a*".repeat(100_000);
    assert_eq!(
        find(b"aaa", pattern.as_bytes(), 0, true, u64::MAX),
        Err(PatternError::Malformed("pattern too complex"))
    );
}

proptest! {
    #[test]
    fn whatever_the_bytes_it_answers_within_its_steps(
        text in prop::collection::vec(any::<u8>(), 0..60),
        pattern in prop::collection::vec(prop::sample::select(b"ab%[]()^$.*+-?bf1\0d\xff".to_vec()), 0..30),
        from in 0..80_usize,
        anchors: bool,
    ) {
        if let Ok(Some(found)) = find(&text, &pattern, from, anchors, 10_000) {
            prop_assert!(found.range.start >= from && found.range.start <= found.range.end);
            prop_assert!(found.range.end <= text.len());
            for capture in found.captures {
                match capture {
                    Capture::Text(range) => prop_assert!(range.start <= range.end && range.end <= text.len()),
                    Capture::Position(at) => prop_assert!(at <= text.len()),
                }
            }
        }
    }
}
