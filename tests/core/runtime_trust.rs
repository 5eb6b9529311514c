//! Which frontmatter the user has trusted.

use std::{fs, os::unix::fs::PermissionsExt};

use flemma::runtime::trust::{Trusted, append};

#[test]
fn trust_is_kept_by_the_path_and_by_the_content() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("state/trust.jsonl");
    assert_eq!(Trusted::read(&store).unwrap(), Trusted::default(), "no store is an empty one");

    append(&store, "/a.chat", "one").unwrap();
    append(&store, "/b.chat", "two").unwrap();
    let trusted = Trusted::read(&store).unwrap();
    assert!(trusted.contains("/a.chat", "one") && trusted.contains("/b.chat", "two"));
    assert!(!trusted.contains("/a.chat", "two") && !trusted.contains("/c.chat", "one"));
    let mode = fs::metadata(&store).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // The last word about a file counts; what is broken is passed over.
    fs::write(&store, [&fs::read(&store).unwrap()[..], b"\xff nonsense\n{\"path\":1}\n"].concat()).unwrap();
    append(&store, "/a.chat", "three").unwrap();
    let trusted = Trusted::read(&store).unwrap();
    assert!(trusted.contains("/a.chat", "three") && !trusted.contains("/a.chat", "one"));
    assert!(trusted.contains("/b.chat", "two"));
}

#[test]
fn what_is_trusted_already_is_no_news() {
    let mut trusted = Trusted::default();
    assert!(trusted.insert("/a.chat", "one"));
    assert!(!trusted.insert("/a.chat", "one"));
    assert!(trusted.insert("/a.chat", "two"));
}
