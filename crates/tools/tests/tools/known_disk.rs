//! Judging paths by what a worker has found out about the disk: the same as by the disk itself, and never weaker where something is
//! missing.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    slice,
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
};

use flemma_config::Config;
use flemma_tools::{
    Access, AgentBase, Agents, Disk, Facts, Permitted, Policy, Presets, Silent,
    approval::{ApprovalCall, Decision},
    rules::{PathBase, ReadTarget, Subject},
};
use proptest::{collection::vec, prelude::*, sample::subsequence};
use serde_json::{Value, json};
use tempfile::TempDir;

use flemma_model::CallId;

/// Rules about paths and commands of the project.
const ENTRIES: [&str; 11] = [
    "$default",
    "read(src/**)",
    "write(src/*)",
    "write(link/**)",
    "read(./src/../out/*)",
    "!read(secret/**)",
    "!read(out/*)",
    "!write(src/deep/**)",
    "!write(link)",
    "!edit(*.md)",
    "bash(cargo *)",
];

/// Paths of agents.
const ALLOWED: [&str; 6] = ["src", "./out", "link", "secret/a", "../elsewhere", "src/deep/"];

/// Paths that calls name.
const PATHS: [&str; 14] = [
    "src",
    "src/a",
    "src/new/b",
    "src/deep/a.md",
    "link",
    "link/a",
    "src/back/a",
    "secret/a",
    "out/a.md",
    "dangling",
    "src/../secret/a",
    "hard",
    ".git/config",
    "../elsewhere/a",
];

/// A project with links in it, to folders in it and outside it.
fn project(links: &[bool]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join("project").join(path);
    for folder in ["src/deep", "secret", "out", ".git", "../elsewhere"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in ["src/a", "src/deep/a.md", "secret/a", "out/a.md", ".git/config", "../elsewhere/a"] {
        fs::write(at(file), "text\n").unwrap();
    }
    let made = [("link", "secret"), ("src/back", "../../elsewhere"), ("dangling", "src/new"), ("src/deep/up", "..")];
    for ((name, target), _) in made.iter().zip(links).filter(|(_, is_there)| **is_there) {
        symlink(target, at(name)).unwrap();
    }
    fs::hard_link(at("secret/a"), at("hard")).unwrap();
    root
}

thread_local! {
    /// Such projects for cases that only look at them, by their links.
    static UNCHANGED: RefCell<BTreeMap<Vec<bool>, TempDir>> = RefCell::default();
}

fn unchanged(links: &[bool]) -> PathBuf {
    UNCHANGED.with_borrow_mut(|all| {
        let root = all.entry(links.to_vec()).or_insert_with(|| project(links));
        root.path().canonicalize().unwrap().join("project")
    })
}

/// What is judged: a call of a tool with a path, or a command.
#[derive(Clone, Debug)]
struct Judged {
    tool: &'static str,
    path: &'static str,
    entries: Vec<&'static str>,
    allowed: Option<Vec<&'static str>>,
}

impl Judged {
    fn any() -> impl Strategy<Value = Self> {
        let tool = prop::sample::select(vec!["read", "write", "edit", "grep", "bash"]);
        let path = prop::sample::select(PATHS.to_vec());
        let entries = subsequence(ENTRIES.to_vec(), 0..=ENTRIES.len());
        let allowed = prop::option::of(subsequence(ALLOWED.to_vec(), 0..=ALLOWED.len()));
        (tool, path, entries, allowed).prop_map(|(tool, path, entries, allowed)| Self { tool, path, entries, allowed })
    }

    /// The decision of the list, whether the agent permits the path, and whether something denied would be written over.
    fn judge(&self, folder: &Path, disk: &Disk) -> (Option<Decision>, bool, bool) {
        let base = PathBase {
            folder: folder.to_owned(),
            home: Some("/nowhere/home".into()),
            disk: disk.clone(),
            ..PathBase::default()
        };
        let entries: Vec<String> = self.entries.iter().map(|&entry| entry.to_owned()).collect();
        let policy = Policy::new(&entries, &[], &Presets::builtin());
        let path = folder.join(self.path);
        let command = format!("cd {} && cargo build", folder.display());
        let subject =
            if self.tool == "bash" { Subject::Command(&command) } else { Subject::Paths(slice::from_ref(&path)) };
        let id = CallId::from("call");
        let call = ApprovalCall {
            subject,
            reading: (self.tool != "bash").then_some(ReadTarget { subject, leaves_out_denied: self.tool == "grep" }),
            path_base: &base,
            ..ApprovalCall::new(self.tool, &Value::Null, &id, 1)
        };
        let decision = policy.decide(&call);
        let is_covered = Policy::denied([&policy], &base).covers_existing(&path);
        (decision, self.permitted(folder, disk).check(Access::Write, &path, self.path).is_ok(), is_covered)
    }

    fn permitted(&self, folder: &Path, disk: &Disk) -> Permitted {
        let Some(allowed) = &self.allowed else { return Permitted::default() };
        let config = Config::from_layers(&[json!({ "agents": { "one": { "allowed_read_paths": allowed } } })]).unwrap();
        let base = AgentBase { folder: folder.to_owned(), notes: folder.to_owned(), disk: disk.clone() };
        Agents { all: config.agents.clone().into_iter().collect(), base }.permitted()
    }
}

/// What a worker finds out while it judges.
fn recorded(judged: &Judged, folder: &Path) -> Facts {
    let disk = Disk::recording(Arc::new(|lookup| Some(lookup.answer())));
    judged.judge(folder, &disk);
    disk.facts()
}

/// How much a decision lets happen.
fn freedom(decision: Option<Decision>) -> u8 {
    match decision {
        Some(Decision::Deny) => 0,
        Some(Decision::RequireApproval) => 1,
        None => 2,
        Some(Decision::Approve) => 3,
    }
}

proptest! {
    #[test]
    #[ignore = "slow"]
    fn facts_judge_as_the_disk_does(judged in Judged::any(), links in vec(any::<bool>(), 4)) {
        let folder = unchanged(&links);
        let expected = judged.judge(&folder, &Disk::default());
        let facts = recorded(&judged, &folder);
        // Nothing is looked up any more: it is not there.
        let root = folder.parent().unwrap();
        let elsewhere = root.with_extension("elsewhere");
        fs::rename(root, &elsewhere).unwrap();
        let disk = Disk::known(facts);
        let found = judged.judge(&folder, &disk);
        fs::rename(&elsewhere, root).unwrap();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(disk.lacks(), None);
        prop_assert!(!disk.has_unasked());
    }

    #[test]
    fn missing_facts_never_permit_more(
        judged in Judged::any(),
        links in vec(any::<bool>(), 4),
        missing in vec(0..3_u8, 64),
    ) {
        let folder = unchanged(&links);
        let (decision, is_permitted, is_covered) = judged.judge(&folder, &Disk::default());
        let facts = recorded(&judged, &folder).into_iter().zip(missing).filter_map(|((lookup, answer), missing)| {
            match missing {
                0 => None,
                1 => Some((lookup, None)),
                _ => Some((lookup, answer)),
            }
        });
        let disk = Disk::known(facts.collect());
        let (known, is_known_permitted, is_known_covered) = judged.judge(&folder, &disk);
        // Whoever judges with something missing asks.
        if disk.lacks().is_none() {
            prop_assert!(freedom(known) <= freedom(decision), "{known:?} instead of {decision:?}");
            prop_assert_eq!(is_known_permitted, is_permitted);
            prop_assert!(is_known_covered || !is_covered);
        }
    }
}

#[test]
fn a_denial_is_not_certain_without_the_disk() {
    let root = project(&[true; 4]);
    let folder = root.path().join("project");
    let judged = Judged { tool: "write", path: "link/a", entries: vec!["write", "!read(secret/**)"], allowed: None };
    let disk = Disk::known(Facts::new());
    judged.judge(&folder, &disk);
    assert!(disk.has_unasked());
    let is_there = |silent: &Silent| matches!(silent, Silent::Disk(path) if path.starts_with(&folder));
    assert!(disk.lacks().as_ref().is_some_and(is_there), "{:?}", disk.lacks());
    // Nobody else is asked twice about the same.
    let facts = recorded(&judged, &folder);
    let silent: Facts = facts.into_keys().map(|lookup| (lookup, None)).collect();
    let disk = Disk::known(silent);
    judged.judge(&folder, &disk);
    assert!(!disk.has_unasked());
    assert!(disk.lacks().is_some());
}

#[test]
fn a_silent_disk_approves_nothing_and_denies_nothing() {
    let root = project(&[true; 4]);
    let folder: PathBuf = root.path().join("project");
    let judged = Judged { tool: "write", path: "src/a", entries: vec!["$default", "write(src/*)"], allowed: None };
    assert_eq!(judged.judge(&folder, &Disk::default()).0, Some(Decision::Approve));
    // Only what permits something is missing, so that the user can be asked in the usual way.
    let disk = Disk::known(Facts::new());
    assert_eq!(judged.judge(&folder, &disk).0, None);
    assert_eq!(disk.lacks(), None);
}

/// A folder of the project that is exchanged for a link between any two questions.
#[test]
fn what_is_approved_is_where_the_answers_say_it_leads() {
    let root = project(&[]);
    let root = root.path().canonicalize().unwrap();
    let (folder, outside) = (root.join("project"), root.join("elsewhere"));
    for file in ["new", "a"] {
        let path = folder.join("src").join(file);
        for states in 0..1_u32 << 8 {
            let (asked, at) = (Arc::new(AtomicU32::new(0)), folder.clone());
            let ask = move |lookup: flemma_tools::Lookup| {
                let is_link = states >> asked.fetch_add(1, Ordering::Relaxed).min(7) & 1 == 1;
                exchange(&at, is_link);
                Some(lookup.answer())
            };
            let disk = Disk::recording(Arc::new(ask));
            let call = Judged {
                tool: "write",
                path: if file == "a" { "src/a" } else { "src/new" },
                entries: vec!["$default"],
                allowed: None,
            };
            let (decision, _, _) = call.judge(&folder, &disk);
            let place = disk.real(&path);
            assert!(
                decision != Some(Decision::Approve) || place.starts_with(&folder),
                "{states:b}: {} was approved, in {}",
                place.display(),
                outside.display()
            );
        }
    }
}

/// Makes `src` a folder of the project, or a link to another folder.
fn exchange(folder: &Path, is_link: bool) {
    let (src, aside) = (folder.join("src"), folder.join("aside"));
    if src.is_symlink() == is_link {
        return;
    }
    if is_link {
        fs::rename(&src, &aside).unwrap();
        symlink("../elsewhere", &src).unwrap();
    } else {
        fs::remove_file(&src).unwrap();
        fs::rename(&aside, &src).unwrap();
    }
}
