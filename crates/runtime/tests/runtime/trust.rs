//! What the user has trusted: frontmatter, and files that a conversation may show.

use std::{fs, os::unix::fs::PermissionsExt};

use flemma_runtime::{
    external_paths,
    trust::{Trusted, append, append_file},
};

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

#[test]
fn trusted_files_are_kept_beside_the_frontmatter() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("trust.jsonl");
    let file = |name: &str| std::path::PathBuf::from(name);
    append(&store, "/a.chat", "one").unwrap();
    append_file(&store, "/a.chat", &file("/x.png")).unwrap();
    append_file(&store, "/a.chat", &file("/y.png")).unwrap();
    let mut trusted = Trusted::read(&store).unwrap();
    assert!(trusted.contains("/a.chat", "one") && !trusted.contains("/a.chat", "/y.png"));
    assert!(trusted.contains_file("/a.chat", &file("/x.png")) && trusted.contains_file("/a.chat", &file("/y.png")));
    assert!(!trusted.contains_file("/a.chat", &file("/z.png")) && !trusted.contains_file("/b.chat", &file("/x.png")));
    assert!(trusted.insert_file("/b.chat", &file("/x.png")) && !trusted.insert_file("/b.chat", &file("/x.png")));
}

#[test]
fn files_lead_where_their_links_do() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir(root.join("in")).unwrap();
    fs::write(root.join("in/a"), "").unwrap();
    fs::write(root.join("b"), "").unwrap();
    std::os::unix::fs::symlink(root.join("b"), root.join("in/link")).unwrap();
    let named = ["./a", "./link", "../b", "./link", "../in/a", "./gone"].map(std::path::PathBuf::from);
    let found = external_paths(named, &root.join("in"));
    let found: Vec<_> = found.iter().map(|file| (file.named.to_str().unwrap(), file.real.clone())).collect();
    assert_eq!(found, [("./link", root.join("b")), ("../b", root.join("b"))]);
}

#[test]
fn hidden_files_in_the_folder_count_as_external() {
    let folder = tempfile::tempdir().unwrap();
    // The folder itself may be hidden: what is in it is the conversation's own.
    let root = fs::canonicalize(folder.path()).unwrap().join(".notes");
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(root.join("a/.b")).unwrap();
    for file in [".env", ".git/config", "a/.b/c", "a/open"] {
        fs::write(root.join(file), "").unwrap();
    }
    std::os::unix::fs::symlink(".env", root.join("shown")).unwrap();
    std::os::unix::fs::symlink("a/open", root.join(".link")).unwrap();
    let named =
        ["./.env", "./.git/config", "./a/.b/c", "./a/.b/../open", "./a/open", "./shown", "./.link", "./a/../.env"];
    let found = external_paths(named.map(std::path::PathBuf::from), &root);
    let mut found: Vec<_> = found.iter().map(|file| file.named.to_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, ["./.env", "./.git/config", "./a/../.env", "./a/.b/c", "./shown"]);
}
