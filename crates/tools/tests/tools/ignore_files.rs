//! Which entries of a folder ignore files leave out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use flemma_tools::ignore_files::{GitRules, IgnoreFiles};
use ignore::WalkBuilder;
use proptest::{prelude::*, sample::select};
use tempfile::TempDir;

/// What is not left out below `folder`, which is in `root`.
fn left(files: &IgnoreFiles, folder: &Path, root: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, is_folder) = (entry.path(), entry.file_type().unwrap().is_dir());
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if files.ignores(&path, is_folder).unwrap_or(is_hidden) {
            continue;
        }
        if is_folder {
            left(files, &path, root, found);
        }
        found.push(path.strip_prefix(root).unwrap().to_owned());
    }
}

fn ours(root: &Path, base: &Path, git: GitRules) -> Vec<PathBuf> {
    let mut found = Vec::new();
    left(&IgnoreFiles::new(base, git), base, root, &mut found);
    found.sort();
    found
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn names() -> impl Strategy<Value = String> {
    let name = || select(vec!["a", "b", "c.log", ".h", "d.txt"]);
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

/// A file with rules, and its rules.
fn rules() -> impl Strategy<Value = (String, String)> {
    let folder = select(vec!["", "a/", "a/b/", "b/"]);
    let file = select(vec![".ignore", ".gitignore", ".git/info/exclude", ".git/HEAD"]);
    #[rustfmt::skip]
    let lines = [
        "a", "b/", "/a", "*.log", "!*.log", "!c.log", "a/b", "/b/*", "!.h", "# a", "", "a/**/d.txt", "{a", "{a,b}", "[", "**",
        "!a",
    ];
    let lines = prop::collection::vec(select(lines.to_vec()), 1..4);
    (folder, file, lines).prop_map(|(folder, file, lines)| (format!("{folder}{file}"), lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The crate reads such files as git does, but no hostile ones.
    #[test]
    fn the_files_leave_out_what_the_crate_leaves_out(
        entries in prop::collection::vec(names(), 1..12),
        rules in prop::collection::vec(rules(), 0..5),
        base in select(vec!["", "a", "b"]),
    ) {
        let (_folder, root) = folder();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("b")).unwrap();
        for (name, text) in &rules {
            put(&root, name, text);
        }
        for entry in &entries {
            // Its folder may be a file by now, and it a folder.
            let path = root.join(entry);
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                fs::write(path, "").unwrap();
            }
        }
        let base = root.join(base);
        prop_assume!(base.is_dir());
        let mut theirs: Vec<PathBuf> = WalkBuilder::new(&base)
            .build()
            .filter_map(Result::ok)
            .filter(|entry| entry.depth() > 0)
            .map(|entry| entry.path().strip_prefix(&root).unwrap().to_owned())
            .collect();
        theirs.sort();
        prop_assert_eq!(ours(&root, &base, GitRules::InRepositories), theirs);
    }
}

#[test]
fn a_line_that_is_too_much_leaves_the_others_in_effect() {
    let (_folder, root) = folder();
    let deep = |depth: usize| "{a,".repeat(depth) + &"}".repeat(depth);
    for line in [deep(200), deep(20_000), "*".repeat(100_000), format!("{0}{0}", "{a,[}]".repeat(20_000))] {
        for name in [".gitignore", ".ignore", ".git/info/exclude"] {
            put(&root, name, &format!("{line}\n*.log\n"));
            put(&root, "a.log", "");
            put(&root, "a.txt", "");
            assert_eq!(ours(&root, &root, GitRules::Everywhere), [Path::new("a.txt")], "{name}");
            fs::remove_file(root.join(name)).unwrap();
        }
    }
}

#[test]
fn a_work_tree_has_the_excludes_of_its_repository() {
    let (_folder, root) = folder();
    put(&root, "main/.git/info/exclude", "*.log\n");
    put(&root, "main/.git/worktrees/tree/commondir", "../..\n");
    put(&root, "tree/.git", &format!("gitdir: {}\n", root.join("main/.git/worktrees/tree").display()));
    put(&root, "tree/a.log", "");
    put(&root, "tree/a.txt", "");
    assert_eq!(ours(&root, &root.join("tree"), GitRules::InRepositories), [Path::new("tree/a.txt")]);
}

#[test]
fn a_pipe_is_no_ignore_file() {
    let (_folder, root) = folder();
    let pipe = root.join(".gitignore");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    put(&root, "a.txt", "");
    assert_eq!(ours(&root, &root, GitRules::Everywhere), [Path::new("a.txt")]);
}
