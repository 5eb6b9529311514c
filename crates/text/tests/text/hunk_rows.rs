//! Hunks in rows of the screen: what is drawn can be seen, and what is not drawn is counted.

use std::time::Duration;

use flemma_text::{
    hunk_places::HunkPlace,
    hunk_rows::{HunkRoom, HunkRows},
};
use proptest::prelude::*;

fn rows(old: &str, new: &str, height: usize, wraps: bool) -> Vec<(HunkPlace, HunkRows)> {
    let room = HunkRoom { width: 20, height, rows: 20, lines: 1000, wraps, is_dos: false, has_bom: false };
    let places = HunkPlace::between(old.as_bytes(), new.as_bytes(), Duration::from_secs(1));
    let rows = HunkRows::of(old.as_bytes(), new.as_bytes(), &places, room);
    places.into_iter().zip(rows).collect()
}

fn content() -> impl Strategy<Value = String> {
    let line = prop_oneof![Just("a".to_owned()), Just("b ".to_owned()), "[xy]{0,90}"];
    prop::collection::vec(line, 0..30).prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

proptest! {
    #[test]
    fn no_hunk_has_more_rows_than_can_be_reached(old in content(), new in content(), height in 8usize..30, wraps: bool) {
        for (place, rows) in rows(&old, &new, height, wraps) {
            let drawn = rows.old.iter().chain(&rows.new).map(Vec::len).sum::<usize>();
            let note = usize::from(rows.more > 0 || rows.is_cut);
            prop_assert!(drawn + note <= 2 * height, "{drawn} in {height}");
            prop_assert_eq!(rows.new.len() + rows.more, place.new.len());
            prop_assert!(rows.new.iter().all(|line| !line.is_empty()));
        }
    }
}

#[test]
fn what_changes_in_a_long_line_takes_a_row_of_each_side() {
    let long = "0123456789".repeat(30);
    let (old, new) = (format!("{long}old\n"), format!("{long}new\n"));
    // Where it is not wrapped.
    let (_, drawn) = rows(&old, &new, 20, false).remove(0);
    assert!(!drawn.is_cut);
    assert_eq!(drawn.old, [["…4567890123456789old"]]);
    assert_eq!(drawn.new, [["…4567890123456789new"]]);
}
