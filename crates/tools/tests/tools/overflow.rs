//! The whole of outputs that were cut.

use flemma_tools::overflow;

#[test]
fn old_outputs_are_cleaned_away_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let output = overflow::save(folder.path(), "bash", b"all of it").unwrap();
    let other = folder.path().join("notes.txt");
    std::fs::write(&other, "mine").unwrap();
    let now = std::time::SystemTime::now();
    assert_eq!(overflow::clean(folder.path(), overflow::KEEP, now).unwrap(), 0);
    let later = now + overflow::KEEP + overflow::KEEP;
    assert_eq!(overflow::clean(folder.path(), overflow::KEEP, later).unwrap(), 1);
    assert!(!output.exists() && other.exists());
    assert_eq!(overflow::clean(&folder.path().join("nowhere"), overflow::KEEP, now).unwrap(), 0);
}
