//! What a write that was killed has left beside the files of the user.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    time::{Duration, SystemTime},
};

use serde_json::json;

use crate::workshop::Workshop;

#[test]
fn the_next_write_deletes_what_a_killed_one_has_left() {
    let workshop = Workshop::new();
    let old = SystemTime::now() - Duration::from_secs(120);
    // What is not a file of ours, is young, or is still being written stays.
    let names = [".flemma-new-a1B2c3", ".flemma-new-young1", ".flemma-new-locked", ".flemma-new-", ".flemma-new-a.md"];
    for name in names {
        workshop.put(name, "half");
        let file = File::options().write(true).open(workshop.path(name)).unwrap();
        if name != ".flemma-new-young1" {
            file.set_modified(old).unwrap();
        }
    }
    symlink("other.md", workshop.path(".flemma-new-link11")).unwrap();
    fs::create_dir(workshop.path(".flemma-new-folder")).unwrap();
    let locked = File::open(workshop.path(".flemma-new-locked")).unwrap();
    locked.lock().unwrap();
    assert!(workshop.ok("write", json!({ "label": null, "path": "a.md", "content": "new\n" })).contains("a.md"));
    let mut left: Vec<_> = fs::read_dir(&workshop.context.cwd)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.retain(|name| name.starts_with(".flemma-new-"));
    left.sort();
    let kept = [".flemma-new-", ".flemma-new-a.md", ".flemma-new-folder", ".flemma-new-link11", ".flemma-new-locked"];
    let mut kept = kept.to_vec();
    kept.push(".flemma-new-young1");
    assert_eq!(left, kept);
    assert_eq!(fs::read_to_string(workshop.path("a.md")).unwrap(), "new\n");
}
