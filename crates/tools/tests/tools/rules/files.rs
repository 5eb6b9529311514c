//! Path rules, in folders with links.

use std::{fs, os::unix::fs::symlink, path::Path};

use flemma_tools::{
    approval::Decision,
    paths::real,
    rules::{PathBase, Subject, decide},
};
use tempfile::TempDir;

use super::rules;

const APPROVE: Option<Decision> = Some(Decision::Approve);
const ASK: Option<Decision> = Some(Decision::RequireApproval);
const DENY: Option<Decision> = Some(Decision::Deny);

/// A project with a link out of it and one into it, beside a home folder.
fn project() -> (TempDir, PathBase) {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for folder in ["project/src/deep", "project/.git", "project/secrets", "home/notes", "outside"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in
        ["project/src/main.rs", "project/src/deep/a.rs", "project/secrets/key", "outside/file", "home/notes/a.md"]
    {
        fs::write(at(file), "").unwrap();
    }
    symlink(at("outside"), at("project/src/out")).unwrap();
    symlink(at("outside/new"), at("project/src/dangling")).unwrap();
    symlink(at("project/src"), at("project/alias")).unwrap();
    symlink(at("project/secrets/key"), at("project/src/innocent")).unwrap();
    let path_base = PathBase { folder: at("project"), home: Some(at("home")), ..PathBase::default() };
    (dir, path_base)
}

fn check(entries: &[&str], rows: &[(&str, Option<Decision>)]) {
    let (_dir, path_base) = project();
    let rules = rules(entries);
    for (path, expected) in rows {
        let named = [path_base.folder.join(path)];
        assert_eq!(decide(&rules, "read", &Subject::Paths(&named), &path_base), *expected, "{entries:?} {path}");
    }
}

#[test]
fn a_pattern_means_what_is_below_it_and_nothing_else() {
    check(
        &["read(src/**)"],
        &[
            ("src/main.rs", APPROVE),
            ("src/deep/a.rs", APPROVE),
            ("src/new/file", APPROVE),
            ("src", APPROVE),
            ("src/", APPROVE),
            ("./src/./main.rs", APPROVE),
            ("secrets/../src/main.rs", APPROVE),
            ("secrets/key", None),
            ("src/../secrets/key", None),
            ("srcs/x", None),
            (".", None),
            ("..", None),
            ("/etc/passwd", None),
        ],
    );
    check(&["read(src/*)"], &[("src/main.rs", APPROVE), ("src/deep/a.rs", None), ("src", None)]);
    check(&["read(src/*.rs)"], &[("src/main.rs", APPROVE), ("src/deep/a.rs", None), ("src/x.txt", None)]);
    check(&["read(**/*.rs)"], &[("src/main.rs", APPROVE), ("a.rs", APPROVE), ("../a.rs", None)]);
    check(&["read(src/{main,lib}.rs)"], &[("src/main.rs", APPROVE), ("src/other.rs", None)]);
    check(&["read(src/main.rs)"], &[("src/main.rs", APPROVE), ("src/main.rs/x", None), ("src", None)]);
}

/// Whoever makes the link would decide otherwise what the rule means.
#[test]
fn a_relative_rule_approves_nothing_through_a_link_out() {
    let rows = [("src/out/file", None), ("src/out/new", None), ("../outside/file", None), ("src/main.rs", None)];
    check(&["read(src/out/**)"], &rows);
    check(&["read(src/out/file)"], &rows);
    check(&["!read(src/out/**)"], &[("../outside/file", Some(Decision::Deny))]);
    // The user has named the place themselves.
    check(&["read(../outside/**)"], &[("../outside/file", APPROVE), ("src/out/file", APPROVE)]);
}

#[test]
fn links_are_followed_on_both_sides() {
    check(
        &["read(src/**)"],
        &[
            ("src/out/file", None),
            ("src/out", None),
            ("src/dangling", None),
            ("src/innocent", None),
            ("src/out/../main.rs", None),
            ("alias/main.rs", APPROVE),
        ],
    );
    check(&["read(alias/**)"], &[("src/main.rs", APPROVE), ("alias/deep/a.rs", APPROVE)]);
    check(&["read(../outside/**)"], &[("src/out/file", APPROVE), ("src/dangling", APPROVE), ("src/main.rs", None)]);
}

#[test]
fn a_pattern_may_stand_on_the_home_folder_or_the_root() {
    check(&["read(~/notes/**)"], &[("../home/notes/a.md", APPROVE), ("../home/x", None), ("~/notes/a.md", None)]);
    check(&["read(/etc/**)"], &[("/etc/no such file", APPROVE), ("etc/x", None)]);
    let (_dir, mut path_base) = project();
    path_base.home = None;
    let path = Path::new("/a");
    assert_eq!(decide(&rules(&["read(~/**)"]), "read", &Subject::Paths(&[path.to_owned()]), &path_base), None);
    assert_eq!(decide(&rules(&["read", "!read(~/**)"]), "read", &Subject::Paths(&[path.to_owned()]), &path_base), ASK);
}

#[test]
fn a_denial_counts_for_the_path_as_written_and_as_it_is() {
    check(
        &["read", "!read(secrets/**)"],
        &[
            ("secrets/key", DENY),
            ("secrets", DENY),
            ("src/innocent", DENY),
            ("src/../secrets/key", DENY),
            ("src/main.rs", APPROVE),
        ],
    );
    check(
        &["read", "!read(src/out/**)"],
        &[("src/out/file", DENY), ("../outside/file", DENY), ("src/main.rs", APPROVE)],
    );
    check(&["read", "!read(**/.env)"], &[(".env", DENY), ("src/deep/.env", DENY), ("src/main.rs", APPROVE)]);
}

#[test]
fn a_folder_that_holds_something_denied_is_asked_about() {
    check(&["read", "!read(secrets/**)"], &[(".", ASK), ("..", ASK), ("/", ASK), ("src", APPROVE)]);
    check(&["read", "!read(src/**/key)"], &[("src", ASK), ("src/deep", ASK), ("src/main.rs", APPROVE), (".", ASK)]);
    check(&["read", "!read(src/*.rs)"], &[("src", ASK), ("src/deep", APPROVE), ("src/main.rs", DENY)]);
    check(&["!read(secrets/**)"], &[("src/main.rs", None)]);
}

#[test]
fn the_real_path_follows_links_and_keeps_what_is_not_there() {
    let (_dir, path_base) = project();
    let root = fs::canonicalize(path_base.folder.parent().unwrap()).unwrap();
    let real = |path: &str| real(&path_base.folder.join(path));
    assert_eq!(real("src/out/file"), root.join("outside/file"));
    assert_eq!(real("src/out/no/such"), root.join("outside/no/such"));
    assert_eq!(real("src/dangling"), root.join("outside/new"));
    assert_eq!(real("no/../src"), root.join("project/src"));
    symlink("b", path_base.folder.join("a")).unwrap();
    symlink("a", path_base.folder.join("b")).unwrap();
    // A circle leads nowhere, and that takes no forever.
    assert!(real("a/x").starts_with(root.join("project")));
}
