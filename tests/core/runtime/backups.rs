//! Changes of files by tools, and taking them back: with real files and real processes.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use flemma::{
    changes::Wanted,
    journal::CallKey,
    model::{CallId, ModelError, ToolInput},
    runtime::{
        LockFile, Taken,
        backups::{Backups, Limits, LogKey, Permit, Proposal, Restored},
    },
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tools::workshop::Workshop;

const LIMITS: Limits = Limits { max_bytes: 1 << 30, max_age: None };

/// A project, the store beside it, and a conversation that changes the project's files.
struct Bench {
    shop: Workshop,
    backups: Backups,
    log: LogKey,
    keys: Vec<CallKey>,
}

fn write(path: &str, content: &str) -> Value {
    json!({ "label": null, "path": path, "content": content })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "label": null, "path": path, "old_text": old, "new_text": new })
}

/// Everything below a folder: what a file has and its mode, where a link leads, that there is a folder.
type Everything = BTreeMap<PathBuf, String>;

fn look(folder: &Path) -> Everything {
    let mut found = Everything::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let what = if metadata.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            found.extend(look(&path));
            "folder".to_owned()
        } else {
            format!("{:o} {:?}", metadata.mode() & 0o7777, fs::read(&path).unwrap())
        };
        found.insert(path, what);
    }
    found
}

impl Bench {
    fn new() -> Self {
        let shop = Workshop::new();
        let state = shop.context.overflow_dir.parent().unwrap().to_owned();
        let backups = Backups::new(state.join("changes"), state.join("locks"));
        let log = LogKey::File(shop.path("notes.chat"));
        Self { shop, backups, log, keys: Vec::new() }
    }

    fn state(&self) -> PathBuf {
        self.shop.context.overflow_dir.parent().unwrap().join("changes")
    }

    fn log_file(&self) -> PathBuf {
        fs::read_dir(self.state().join("logs")).unwrap().next().unwrap().unwrap().path()
    }

    fn limited(&mut self, id: &str, tool: &str, input: Value, limits: Limits) -> String {
        let key = CallKey::of(&CallId::from(id), tool, &ToolInput::Json(input.clone()));
        self.shop.context.recorder = Some(self.backups.recorder_of_call(&self.log, &key, limits, None));
        self.keys.push(key);
        self.shop.render(tool, input).text
    }

    fn call(&mut self, id: &str, tool: &str, input: Value) {
        let text = self.limited(id, tool, input, LIMITS);
        assert!(["Created", "Replaced", "Edited"].iter().any(|word| text.starts_with(word)), "{text}");
    }

    fn propose(&self, wanted: &Wanted) -> Result<Proposal, String> {
        self.backups.propose(&self.log, wanted, &[]).map_err(|error| error.to_string())
    }

    fn permit(&self) -> Permit {
        Permit {
            overwrite: Vec::new(),
            unsaved: Vec::new(),
            protected: Arc::new(|_| None),
            limits: LIMITS,
            fence: None,
        }
    }

    fn apply(&self, proposal: &Proposal) -> Vec<Option<String>> {
        let restored = self.backups.apply(&self.log, proposal, &self.permit());
        restored.into_iter().map(|Restored { problem, .. }| problem).collect()
    }

    /// Takes changes back; all of them.
    fn back(&self, wanted: &Wanted) {
        let proposal = self.propose(wanted).unwrap();
        assert!(proposal.files.iter().all(|file| file.problem.is_none() && !file.is_changed_since), "{proposal:#?}");
        let problems = self.apply(&proposal);
        assert!(problems.iter().all(Option::is_none), "{problems:?}");
    }

    /// What is wanted to get back to where only the first calls were made.
    fn after(&self, calls: usize) -> Wanted {
        Wanted::After { before: self.keys[..calls].to_vec(), after: self.keys[calls..].to_vec() }
    }

    fn project(&self) -> Everything {
        look(&self.shop.context.cwd)
    }
}

#[test]
fn the_last_write_is_taken_back_and_made_again() {
    let mut bench = Bench::new();
    let old = bench.shop.put("run.sh", "one\n");
    fs::set_permissions(&old, PermissionsExt::from_mode(0o750)).unwrap();
    let states = [
        bench.project(),
        {
            bench.call("c1", "edit", edit("run.sh", "one", "two"));
            bench.project()
        },
        {
            bench.call("c2", "write", write("new/deep/a.txt", "made\n"));
            bench.project()
        },
    ];
    bench.back(&Wanted::Last);
    assert_eq!(bench.project(), states[1]);
    bench.back(&Wanted::Last);
    assert_eq!(bench.project(), states[0]);
    let nothing = "all that this conversation has written is taken back; `:Flemma redo` makes it again";
    assert_eq!(bench.propose(&Wanted::Last).unwrap_err(), nothing);
    bench.back(&Wanted::Redo);
    assert_eq!(bench.project(), states[1]);
    bench.back(&Wanted::Redo);
    assert_eq!(bench.project(), states[2]);
    assert_eq!(bench.propose(&Wanted::Redo).unwrap_err(), "nothing was taken back that could be made again");
    bench.back(&Wanted::Last);
    bench.back(&Wanted::Redo);
    bench.back(&bench.after(0));
    assert_eq!(bench.project(), states[0]);
    bench.back(&Wanted::Redo);
    assert_eq!(bench.project(), states[2], "one command is one step");
}

#[test]
fn a_proposal_shows_what_would_happen_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "one\ntwo\n");
    bench.call("c1", "edit", edit("a.txt", "two", "2"));
    bench.call("c2", "write", write("b.txt", "b\n"));
    let before = bench.project();
    let proposal = bench.propose(&bench.after(0)).unwrap();
    let lines = proposal.lines(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let expected = "--- b.txt\n+++ b.txt (before c2)\n(the file is deleted)\n@@ -1,1 +0,0 @@\n-b\n\n--- a.txt\n\
                    +++ a.txt (before c1)\n@@ -1,2 +1,2 @@\n one\n-2\n+two";
    assert_eq!(lines.join("\n"), expected);
    assert_eq!(bench.project(), before);
}

#[test]
fn one_call_is_taken_back_with_what_came_after_it() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.shop.put("b", "0");
    bench.call("c1", "write", write("a", "1"));
    bench.call("c2", "write", write("b", "1"));
    bench.call("c3", "write", write("a", "2"));
    bench.back(&Wanted::Call(CallId::from("c2")));
    assert_eq!((bench.shop.content("a"), bench.shop.content("b")), ("2".into(), "0".into()));
    let proposal = bench.propose(&Wanted::Call(CallId::from("c1"))).unwrap();
    assert_eq!(proposal.files[0].step.also, [CallId::from("c3")]);
    assert!(proposal.lines(|_| "a".into())[0].contains("c3 changed it later"));
    assert_eq!(bench.apply(&proposal), [None]);
    assert_eq!(bench.shop.content("a"), "0");
    let taken = bench.propose(&Wanted::Call(CallId::from("c1"))).unwrap_err();
    assert!(taken.starts_with("what c1 has written is taken back already"), "{taken}");
    let unknown = bench.propose(&Wanted::Call(CallId::from("c9"))).unwrap_err();
    assert!(unknown.starts_with("c9 has written no file in this conversation"), "{unknown}");
    // A later write keeps the file from going forward over it.
    bench.call("c4", "write", write("a", "4"));
    let proposal = bench.propose(&Wanted::Redo).unwrap();
    assert_eq!(proposal.files[0].problem.as_deref(), Some("was written again by c4; take that back first"));
    assert!(bench.apply(&proposal)[0].is_some());
    assert_eq!(bench.shop.content("a"), "4");
}

#[test]
fn what_others_changed_is_never_lost_unasked() {
    let mut bench = Bench::new();
    let path = bench.shop.put("a", "0").canonicalize().unwrap();
    bench.call("c1", "write", write("a", "1"));
    bench.shop.put("a", "mine");
    let proposal = bench.propose(&Wanted::Last).unwrap();
    assert!(proposal.files[0].is_changed_since);
    assert_eq!(bench.apply(&proposal), [Some("was changed by somebody else, and was kept".to_owned())]);
    // Nor if it changes while the user looks.
    bench.shop.put("a", "1");
    let looked = bench.propose(&Wanted::Last).unwrap();
    bench.shop.put("a", "meanwhile");
    assert_eq!(bench.apply(&looked), [Some("has changed in the meantime and was left alone: try again".to_owned())]);
    // Nor if it is in the middle of what is taken back.
    bench.call("c2", "write", write("a", "2"));
    let both = bench.propose(&bench.after(0)).unwrap();
    assert!(both.files[0].is_changed_since);
    let last = bench.propose(&Wanted::Last).unwrap();
    assert!(!last.files[0].is_changed_since, "that goes back to what the other one has written");
    // Unsaved changes of the editor are not even asked about.
    let unsaved = bench.backups.propose(&bench.log, &bench.after(0), std::slice::from_ref(&path)).unwrap();
    assert!(unsaved.files[0].problem.as_ref().unwrap().contains("are not saved"), "{unsaved:#?}");
    let permit = Permit { overwrite: vec![path.clone()], unsaved: vec![path.clone()], ..bench.permit() };
    assert!(bench.backups.apply(&bench.log, &both, &permit)[0].problem.as_ref().unwrap().contains("are not saved"));
    // Whoever says so overwrites it, and that can be taken back too.
    let permit = Permit { overwrite: vec![path], ..bench.permit() };
    assert_eq!(bench.backups.apply(&bench.log, &both, &permit)[0].problem, None);
    assert_eq!(bench.shop.content("a"), "0");
    bench.back(&Wanted::Redo);
    assert_eq!(bench.shop.content("a"), "2");
}

#[test]
fn permissions_alone_count_as_a_change() {
    let mut bench = Bench::new();
    let path = bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let proposal = bench.propose(&Wanted::Last).unwrap();
    assert!(proposal.files[0].is_changed_since);
    assert!(proposal.files[0].diff[0].starts_with("(permissions 600 become 6"), "{proposal:#?}");
}

#[test]
fn what_is_so_already_counts_as_taken_back() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    bench.call("c2", "write", write("b", "1"));
    // Somebody else has taken it back.
    fs::remove_file(bench.shop.path("b")).unwrap();
    bench.back(&Wanted::Last);
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), "0");
}

#[test]
fn a_write_that_changes_nothing_is_no_change() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    bench.call("c2", "write", write("a", "1"));
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), "0");
}

#[test]
fn a_path_that_leads_elsewhere_now_is_not_written() {
    let mut bench = Bench::new();
    bench.shop.put("dir/a", "0");
    bench.shop.put("other/a", "1");
    bench.shop.put("c", "0");
    bench.call("c1", "write", write("dir/a", "1"));
    bench.call("c2", "write", write("c", "1"));
    fs::rename(bench.shop.path("dir"), bench.shop.path("moved")).unwrap();
    symlink("other", bench.shop.path("dir")).unwrap();
    fs::remove_file(bench.shop.path("c")).unwrap();
    symlink("other/a", bench.shop.path("c")).unwrap();
    let proposal = bench.propose(&bench.after(0)).unwrap();
    for file in &proposal.files {
        assert!(file.problem.is_some(), "{file:#?}");
    }
    let overwrite = proposal.files.iter().map(|file| file.step.path.clone()).collect();
    let restored = bench.backups.apply(&bench.log, &proposal, &Permit { overwrite, ..bench.permit() });
    assert!(restored.iter().all(|restored| restored.problem.is_some()), "{restored:?}");
    assert_eq!(bench.shop.content("other/a"), "1");
    // Nor if that happens while the user looks.
    fs::remove_file(bench.shop.path("dir")).unwrap();
    fs::rename(bench.shop.path("moved"), bench.shop.path("dir")).unwrap();
    let looked = bench.propose(&Wanted::Call(CallId::from("c1"))).unwrap();
    assert_eq!(looked.files[0].problem, None);
    fs::rename(bench.shop.path("dir"), bench.shop.path("moved")).unwrap();
    symlink("other", bench.shop.path("dir")).unwrap();
    assert!(bench.apply(&looked)[0].as_ref().unwrap().contains("which was not recorded"));
    assert_eq!(bench.shop.content("other/a"), "1");
}

#[test]
fn a_log_that_was_edited_makes_nothing_happen() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "0");
    bench.shop.put("b.txt", "1");
    bench.call("c1", "write", write("a.txt", "1"));
    let (log, before) = (bench.log_file(), bench.project());
    let written = fs::read_to_string(&log).unwrap();
    // To another file that has just what the call has written; to another content; to another call; cut off; nonsense.
    for (what, by) in
        [("a.txt", "b.txt"), ("\"sha256\":\"", "\"sha256\":\"0"), ("\"c1\"", "\"c2\""), ("\"mode\":", "\"mode\":1")]
    {
        fs::write(&log, written.replace(what, by)).unwrap();
        let refused = bench.propose(&Wanted::Last).unwrap_err();
        assert!(refused.contains("is damaged and is ignored"), "{what}: {refused}");
    }
    fs::write(&log, &written[..written.len() / 3]).unwrap();
    assert!(bench.propose(&Wanted::Last).is_err());
    fs::write(&log, "nonsense\n\0\n{}\n[]\n").unwrap();
    assert!(bench.propose(&Wanted::Last).is_err());
    assert_eq!(bench.project(), before);
    // A newer version is not guessed at.
    fs::write(&log, written.replace("\"v\":1", "\"v\":2")).unwrap();
    assert!(bench.propose(&Wanted::Last).unwrap_err().contains("newer version"));
    fs::write(&log, &written).unwrap();
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a.txt"), "0");
}

#[test]
fn a_copy_that_was_damaged_is_not_restored() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "old content");
    bench.call("c1", "write", write("a.txt", "1"));
    let looked = bench.propose(&Wanted::Last).unwrap();
    for (path, _) in look(&bench.state().join("contents")).into_iter().filter(|(path, _)| path.is_file()) {
        fs::write(path, "something else").unwrap();
    }
    let problem = bench.propose(&Wanted::Last).unwrap().files[0].problem.clone().unwrap();
    assert_eq!(problem, "cannot be taken back: the copy that was kept is damaged");
    assert!(bench.apply(&looked)[0].is_some());
    assert_eq!(bench.shop.content("a.txt"), "1");
}

#[test]
fn nothing_is_written_that_could_not_be_taken_back() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "old");
    fs::create_dir_all(bench.state().parent().unwrap()).unwrap();
    fs::write(bench.state(), "no folder").unwrap();
    let refused = bench.limited("c1", "write", write("a.txt", "new"), LIMITS);
    assert!(refused.starts_with("a.txt: nothing was written: what the file was could not be kept in"), "{refused}");
    let refused = bench.limited("c2", "write", write("made/b.txt", "new"), LIMITS);
    assert!(refused.contains("nothing was written"), "{refused}");
    assert_eq!(bench.shop.content("a.txt"), "old");
    assert!(!bench.shop.path("made").exists(), "and no folder is left");
    assert_eq!(fs::read_dir(&bench.shop.context.cwd).unwrap().count(), 1);
}

#[test]
fn who_lost_the_conversation_writes_and_takes_back_nothing() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    let proposal = bench.propose(&Wanted::Last).unwrap();
    let permit = Permit { fence: Some(Arc::new(|| Err(Taken(None)))), ..bench.permit() };
    let problem = bench.backups.apply(&bench.log, &proposal, &permit)[0].problem.clone().unwrap();
    assert!(problem.contains("another process has taken over the conversation"), "{problem}");
    assert_eq!(bench.shop.content("a"), "1");
}

#[test]
fn protected_files_are_not_restored() {
    let mut bench = Bench::new();
    bench.call("c1", "write", write("a", "1"));
    let proposal = bench.propose(&Wanted::Last).unwrap();
    let permit = Permit { protected: Arc::new(|_| Some(ModelError::new("it is open"))), ..bench.permit() };
    assert!(bench.backups.apply(&bench.log, &proposal, &permit)[0].problem.as_ref().unwrap().contains("it is open"));
    assert_eq!(bench.shop.content("a"), "1");
}

#[test]
fn only_the_user_can_read_what_is_kept() {
    let mut bench = Bench::new();
    bench.shop.put("secret", "old");
    bench.call("c1", "write", write("secret", "new"));
    for path in look(&bench.state()).into_keys().chain([bench.state()]) {
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn calls_with_the_same_id_are_told_apart() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("call_1", "write", write("a", "1"));
    bench.call("call_2", "write", write("a", "2"));
    bench.call("call_1", "write", write("a", "1"));
    bench.back(&bench.after(2));
    assert_eq!(bench.shop.content("a"), "2");
    bench.back(&Wanted::Redo);
    bench.back(&bench.after(1));
    assert_eq!(bench.shop.content("a"), "1");
}

#[test]
fn a_call_that_was_deleted_counts_by_its_time() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    for number in 1..=4 {
        bench.call(&format!("c{number}"), "write", write("a", &number.to_string()));
    }
    // The user has deleted the end of the conversation, or its beginning.
    let keys = bench.keys.clone();
    bench.back(&Wanted::After { before: keys[1..3].to_vec(), after: Vec::new() });
    assert_eq!(bench.shop.content("a"), "3");
}

#[test]
fn old_contents_go_first_and_those_of_open_conversations_last() {
    let mut bench = Bench::new();
    let small = Limits { max_bytes: 250_000, max_age: None };
    let content = |number: usize| format!("{number:05}\n").repeat(10_000 / 6);
    bench.shop.put("a", content(0));
    bench.shop.put("b", "b");
    // The other conversation is older, and open.
    let other = LogKey::File(bench.shop.path("other.chat"));
    let ours = std::mem::replace(&mut bench.log, other);
    bench.limited("o1", "write", write("b", "other"), small);
    let stem = bench.log_file().file_stem().unwrap().to_string_lossy().into_owned();
    let lock = bench.state().parent().unwrap().join("locks");
    fs::create_dir_all(&lock).unwrap();
    let _held = LockFile::take(&lock.join(format!("path-{stem}")), 0o600, None).unwrap();
    let other = std::mem::replace(&mut bench.log, ours);
    for number in 1..100 {
        bench.limited(&format!("c{number}"), "write", write("a", &content(number)), small);
    }
    let total: u64 = look(&bench.state().join("contents"))
        .into_keys()
        .filter_map(|path| Some(fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len()))
        .sum();
    assert!((150_000..300_000).contains(&total), "{total}");
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), content(98));
    let gone = bench.propose(&bench.after(0)).unwrap().files[0].problem.clone().unwrap();
    assert!(gone.contains("is no longer kept"), "{gone}");
    bench.log = other;
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("b"), "b");
    // With time everything goes but what is open.
    std::thread::sleep(Duration::from_millis(20));
    bench.backups.clean(Limits { max_bytes: 1 << 30, max_age: Some(Duration::from_millis(10)) }).unwrap();
    let left = look(&bench.state().join("contents")).into_keys().filter(|path| path.is_file()).count();
    assert_eq!((left, fs::read_dir(bench.state().join("logs")).unwrap().count()), (2, 1));
    bench.back(&Wanted::Redo);
    assert_eq!(bench.shop.content("b"), "other");
}

#[test]
fn a_file_that_is_too_large_is_written_without_a_copy() {
    let mut bench = Bench::new();
    bench.shop.put("a", "x".repeat(2000));
    bench.limited("c1", "write", write("a", "1"), Limits { max_bytes: 1000, max_age: None });
    assert_eq!(bench.shop.content("a"), "1");
    let problem = bench.propose(&Wanted::Last).unwrap().files[0].problem.clone().unwrap();
    assert!(problem.contains("no longer kept"), "{problem}");
}

#[test]
fn a_conversation_with_a_new_name_keeps_its_changes() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.log = LogKey::Unnamed("1".into());
    bench.call("c1", "write", write("a", "1"));
    let named = LogKey::File(bench.shop.path("named.chat"));
    bench.backups.carry_over(&bench.log, &named).unwrap();
    bench.backups.carry_over(&bench.log, &named).unwrap();
    bench.log = named;
    assert_eq!(bench.backups.overview(&bench.log).unwrap().files.len(), 1);
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), "0");
}

#[test]
fn the_overview_has_every_file_once() {
    let mut bench = Bench::new();
    bench.shop.put("a", "1\n2\n3\n");
    bench.call("c1", "edit", edit("a", "2", "two"));
    bench.call("c2", "write", write("b", "1\n"));
    bench.call("c3", "edit", edit("a", "3", "three\nfour"));
    bench.back(&Wanted::Call(CallId::from("c2")));
    bench.shop.put("b", "mine");
    let overview = bench.backups.overview(&bench.log).unwrap();
    let [a, b] = &overview.files[..] else { panic!("{overview:?}") };
    let calls = |calls: &[(CallId, bool)]| calls.iter().map(|(id, is)| format!("{id} {is}")).collect::<Vec<_>>();
    assert_eq!(
        (calls(&a.calls), a.lines, a.is_changed_since),
        (vec!["c1 true".into(), "c3 true".into()], Some((3, 2)), false)
    );
    assert_eq!(
        (calls(&b.calls), b.exists, b.existed, b.is_changed_since),
        (vec!["c2 false".into()], true, false, true)
    );
}

#[derive(Clone, Debug)]
enum Deed {
    Write(usize, String),
    Edit(usize, String),
    Undo,
    Redo,
}

/// Names in the project: files, files in folders that are not there, links, and a name that shares its file with another.
const NAMES: [&str; 9] =
    ["a.txt", "run.sh", "private", "link", "dangling", "new/b.txt", "new/deep/c.txt", "other/d.txt", "shared"];

fn deed() -> impl Strategy<Value = Deed> {
    let content = "[a-c\n]{0,12}";
    prop_oneof![
        6 => (0..NAMES.len(), content).prop_map(|(name, content)| Deed::Write(name, content)),
        4 => (0..NAMES.len(), content).prop_map(|(name, content)| Deed::Edit(name, content)),
        2 => Just(Deed::Undo),
        1 => Just(Deed::Redo),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_and_mode_of_a_session_comes_back(deeds in proptest::collection::vec(deed(), 50), goal in 0usize..50) {
        let mut bench = Bench::new();
        for (name, mode) in [("a.txt", 0o644), ("run.sh", 0o755), ("private", 0o600), ("target", 0o640), ("shared", 0o664)] {
            let path = bench.shop.put(name, format!("{name}\u{feff}\r\n"));
            fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        symlink("target", bench.shop.path("link")).unwrap();
        symlink("gone/away", bench.shop.path("dangling")).unwrap();
        fs::create_dir(bench.shop.path("gone")).unwrap();
        fs::hard_link(bench.shop.path("shared"), bench.shop.path("same")).unwrap();
        let mut states = vec![bench.project()];
        // What undo and redo have to come to: the states before the calls that stand, and those that were undone.
        let (mut before, mut undone): (Vec<Everything>, Vec<Everything>) = (Vec::new(), Vec::new());
        for deed in deeds {
            let now = bench.project();
            let id = format!("c{}", bench.keys.len());
            match deed {
                Deed::Write(name, content) => bench.call(&id, "write", write(NAMES[name], &content)),
                Deed::Edit(name, content) => {
                    let old = fs::read_to_string(bench.shop.path(NAMES[name])).unwrap_or_default();
                    if old.is_empty() || old == content {
                        continue;
                    }
                    bench.call(&id, "edit", edit(NAMES[name], &old, &content));
                }
                Deed::Undo => {
                    if let Some(state) = before.pop() {
                        bench.back(&Wanted::Last);
                        prop_assert_eq!(bench.project(), state);
                        undone.push(now);
                    }
                    continue;
                }
                Deed::Redo => {
                    if let Some(state) = undone.pop() {
                        bench.back(&Wanted::Redo);
                        prop_assert_eq!(bench.project(), state);
                        before.push(now);
                    }
                    continue;
                }
            }
            if bench.project() == now {
                // It changed nothing.
                bench.keys.pop();
                continue;
            }
            before.push(now);
            // What was undone can be made again until something else is written.
            undone.clear();
            states.push(bench.project());
        }
        // Rollback to any message, and from there to the beginning.
        let goal = goal.min(states.len() - 1);
        let is_reached = before.len() == states.len() - 1;
        if is_reached && goal < before.len() {
            bench.back(&bench.after(goal));
            prop_assert_eq!(&bench.project(), &states[goal]);
        }
        if bench.propose(&bench.after(0)).is_ok() {
            bench.back(&bench.after(0));
        }
        prop_assert_eq!(&bench.project(), &states[0]);
    }
}

/// What the other process is told: where the project is, and its name.
const TOLD: [&str; 2] = ["FLEMMA_TEST_PROJECT", "FLEMMA_TEST_NAME"];

/// What the other process does: it writes as fast as it can, until it is killed. As a test of its own it has nothing to do.
#[test]
#[ignore = "the other process of the tests in this file"]
fn another_process() {
    let (Some(project), Ok(name)) = (env::var_os(TOLD[0]), env::var(TOLD[1])) else { return };
    let project = PathBuf::from(project);
    let mut bench = Bench::new();
    let state = project.parent().unwrap().join("state");
    bench.backups = Backups::new(state.join("changes"), state.join("locks"));
    bench.log = LogKey::File(project.join(format!("{name}.chat")));
    bench.shop.context.cwd = project;
    for number in 0.. {
        let content = format!("{name} {number}\n").repeat(3000);
        bench.call(&format!("c{number}"), "write", write(&format!("{name}.txt"), &content));
        if number % 7 == 3 {
            bench.call(&format!("d{number}"), "write", write(&format!("{name}/{number}/new.txt"), &content));
            bench.back(&Wanted::Last);
        }
        println!("written {number}");
    }
}

#[test]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    let bench = Bench::new();
    let original = "the original\n".repeat(2000);
    let names = ["one", "two"];
    for name in names {
        bench.shop.put(&format!("{name}.txt"), &original);
    }
    let before = bench.project();
    for round in 0..12 {
        let mut children = names.map(|name| {
            Command::new(env::current_exe().unwrap())
                .args(["--exact", "runtime::backups::another_process", "--ignored", "--nocapture"])
                .env(TOLD[0], &bench.shop.context.cwd)
                .env(TOLD[1], name)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        for child in &mut children {
            let mut said = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("written 4") {
                line.clear();
                assert!(said.read_line(&mut line).unwrap() > 0, "it ended by itself");
            }
            std::thread::sleep(Duration::from_micros(fastrand::u64(0..15_000)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for name in names {
            let content = bench.shop.content(&format!("{name}.txt"));
            let first = content.lines().next().unwrap().to_owned();
            assert!(content == format!("{first}\n").repeat(3000), "round {round}: {name} is neither old nor new");
        }
    }
    for name in names {
        let log = LogKey::File(bench.shop.path(&format!("{name}.chat")));
        let everything = Wanted::After { before: Vec::new(), after: Vec::new() };
        let proposal = bench.backups.propose(&log, &everything, &[]).unwrap();
        assert_eq!(proposal.damaged, 0);
        assert!(proposal.files.iter().all(|file| !file.is_changed_since && file.problem.is_none()), "{proposal:#?}");
        let restored = bench.backups.apply(&log, &proposal, &bench.permit());
        assert!(restored.iter().all(|restored| restored.problem.is_none()), "{restored:?}");
    }
    // A temporary file, or a folder that was just made, may be left of a kill.
    let after = bench.project();
    let left = |path: &Path| path.to_string_lossy().contains(".flemma-") || path.is_dir();
    let after: Everything = after.into_iter().filter(|(path, _)| !left(path)).collect();
    assert_eq!(after, before);
}
