//! What a model may be told about files and buffers of the editor, however they are spelled.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use flemma_tools::{
    Policy, Presets,
    rules::{DeniedPaths, PathBase},
};
use proptest::prelude::*;
use tempfile::TempDir;

/// A project with a folder of secrets, links to it, and the paths that are denied.
struct Project {
    dir: TempDir,
    denied: DeniedPaths,
}

fn project(denials: &[&str]) -> Project {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for folder in ["project/src/deep", "project/secrets/deep", "home/.ssh"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in [
        "project/src/main.rs",
        "project/src/deep/a.rs",
        "project/secrets/key",
        "project/secrets/deep/key",
        "home/.ssh/id",
    ] {
        fs::write(at(file), "").unwrap();
    }
    symlink(at("project/secrets"), at("project/src/way")).unwrap();
    symlink("../../secrets/key", at("project/src/deep/innocent")).unwrap();
    symlink(at("project/src/way/deep"), at("project/way2")).unwrap();
    symlink(at("project/src"), at("project/alias")).unwrap();
    symlink(at("project/secrets/new"), at("project/src/dangling")).unwrap();
    let base = PathBase { folder: at("project"), home: Some(at("home")), ..PathBase::default() };
    let list: Vec<String> = denials.iter().map(|denial| (*denial).to_owned()).collect();
    let denied = Policy::denied([&Policy::new(&list, &[], &Presets::builtin())], &base);
    Project { dir, denied }
}

impl Project {
    fn folder(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn allows(&self, name: &str) -> bool {
        self.denied.allows(&self.folder(), Path::new(name))
    }
}

#[test]
fn every_spelling_of_a_denied_file_is_denied() {
    let project = project(&["!read(secrets/**)", "!read(~/.ssh/**)"]);
    let absolute = |path: &str| project.dir.path().join(path).display().to_string();
    let denied = [
        "secrets/key".to_owned(),
        "./secrets/../secrets/key".to_owned(),
        "src/../secrets/key".to_owned(),
        "src/way/key".to_owned(),
        "src/way/deep/key".to_owned(),
        "src/deep/innocent".to_owned(),
        "alias/way/key".to_owned(),
        "alias/deep/innocent".to_owned(),
        "way2/key".to_owned(),
        // Lexically this is the project, in fact it is below the secrets.
        "way2/../key".to_owned(),
        "src/dangling".to_owned(),
        "secrets/not/there/yet".to_owned(),
        "secrets".to_owned(),
        absolute("project/secrets/key"),
        absolute("project//secrets/./key"),
        absolute("project/src/way/key"),
        absolute("home/.ssh/id"),
        absolute("home/.ssh/new"),
        // Where these lead is not known.
        "oil:///".to_owned(),
        format!("oil://{}", absolute("project/src")),
        "fugitive:///r/.git//0/secrets/key".to_owned(),
        "term://~//1:bash".to_owned(),
        "file:///etc/hosts".to_owned(),
        "git+ssh://host/x".to_owned(),
    ];
    for name in denied {
        assert!(!project.allows(&name), "{name}");
    }
    let allowed = [
        "src/main.rs".to_owned(),
        "alias/deep/a.rs".to_owned(),
        "src/way/../src/main.rs".to_owned(),
        "secretsx/key".to_owned(),
        "key".to_owned(),
        "new.rs".to_owned(),
        String::new(),
        absolute("home/notes"),
        "a:b".to_owned(),
        "://".to_owned(),
    ];
    for name in allowed {
        assert!(project.allows(&name), "{name}");
    }
}

#[test]
fn without_denials_everything_may_be_told() {
    for denials in [&[][..], &["read", "!bash(rm *)", "!write(secrets/**)", "!read"][..]] {
        let project = project(denials);
        assert!(project.denied.is_empty());
        for name in ["secrets/key", "oil:///", "", "/etc/hosts"] {
            assert!(project.allows(name), "{denials:?} {name}");
        }
    }
}

/// A way to write a path below a folder: with detours that lead back.
fn detour() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("./"),
        Just("src/../"),
        Just("src/deep/../../"),
        Just("alias/../src/../"),
        Just(".//"),
        Just("secrets/../")
    ]
}

/// A way to a secret from the project's folder.
fn way() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("secrets/key"),
        Just("secrets/deep/key"),
        Just("src/way/key"),
        Just("alias/way/deep/key"),
        Just("way2/key"),
        Just("src/deep/innocent"),
        Just("src/dangling"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_detour_leads_to_a_secret(detours in proptest::collection::vec(detour(), 0..5), way in way(), is_absolute: bool) {
        let project = project(&["!read(secrets/**)"]);
        // `alias` leads to `src`, so that `..` behind it is the project again.
        let relative = format!("{}{way}", detours.concat());
        let name = if is_absolute { format!("{}/{relative}", project.folder().display()) } else { relative };
        prop_assert!(!project.allows(&name), "{name}");
    }
}
