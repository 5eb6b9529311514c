//! The whole of outputs that were cut.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use flemma_tools::overflow;

#[test]
fn old_outputs_are_cleaned_away_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let output = overflow::save(folder.path(), "bash", b"all of it").unwrap();
    let other = folder.path().join("notes.txt");
    fs::write(&other, "mine").unwrap();
    let now = SystemTime::now();
    assert_eq!(overflow::clean(folder.path(), overflow::KEEP, now).unwrap(), 0);
    assert_eq!(
        overflow::clean(folder.path(), overflow::KEEP, now + overflow::KEEP + Duration::from_secs(60)).unwrap(),
        1
    );
    assert!(!output.exists() && other.exists());
    assert_eq!(overflow::clean(&folder.path().join("nowhere"), overflow::KEEP, now).unwrap(), 0);
}
