//! What users have made of changes, kept until it is not needed any more.

use std::{
    fs::{self, File},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use flemma_model::Digest;
use flemma_runtime::backups::{Backups, Limits};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn an_edit_is_kept_for_half_a_year_after_it_was_needed() {
    let folder = tempfile::tempdir().unwrap();
    let backups = Backups::new(folder.path().join("changes"), folder.path().join("locks"));
    let [needed, forgotten] = ["needed\n", "forgotten\n"].map(str::as_bytes);
    let place = |content: &[u8]| -> PathBuf {
        let digest = Digest::of(content);
        let (first, rest) = digest.as_str().split_at(2);
        folder.path().join("changes/edited").join(first).join(rest)
    };
    for content in [needed, forgotten] {
        backups.keep_edited(content).unwrap();
        File::options().append(true).open(place(content)).unwrap().set_modified(SystemTime::now() - 170 * DAY).unwrap();
    }
    assert_eq!(backups.edited(&Digest::of(needed)).as_deref(), Some(needed));
    let age = |content: &[u8]| fs::metadata(place(content)).unwrap().modified().unwrap().elapsed().unwrap();
    assert!(age(needed) < DAY && age(forgotten) > 169 * DAY);
    let limits = Limits { max_bytes: 1 << 30, max_age: None };
    backups.clean(limits).unwrap();
    assert!(place(forgotten).exists(), "not yet");
    for (content, days) in [(needed, 11), (forgotten, 181)] {
        let then = SystemTime::now() - days * DAY;
        File::options().append(true).open(place(content)).unwrap().set_modified(then).unwrap();
    }
    backups.clean(limits).unwrap();
    assert!(place(needed).exists() && !place(forgotten).exists());
}
