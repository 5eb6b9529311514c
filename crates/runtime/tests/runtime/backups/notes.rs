//! What tools for notes have written is taken back.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use flemma_journal::changes::Wanted;
use flemma_runtime::backups::{Backups, LogKey};
use serde_json::{Value, json};

use super::{Bench, Everything, LIMITS, look};
use crate::vault::Vault;

/// A bench whose folder of notes has pages with links.
fn bench(pages: usize) -> Bench {
    let mut bench = Bench::new();
    for (name, content) in Vault::new(7, pages).contents() {
        bench.shop.put(&format!("vault/{name}.md"), content);
    }
    bench.shop.context.notes_root = bench.shop.path("vault");
    bench
}

fn done(bench: &mut Bench, id: &str, tool: &str, input: Value) {
    let text = bench.limited(id, tool, input, LIMITS);
    let first = text.lines().next().unwrap_or_default();
    assert!(!["rror", "othing", "not "].iter().any(|word| first.contains(word)), "{text}");
}

#[test]
#[ignore = "slow"]
fn writes_to_notes_are_taken_back_byte_for_byte() {
    let mut bench = bench(120);
    let target = bench.shop.put("vault/Target.md", b"\xef\xbb\xbf---\r\nx: 1 # why\r\n---\r\n# T\r\n\xff one\r\n");
    fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).unwrap();
    for number in 0..40 {
        bench.shop.put(&format!("vault/from/{number}.md"), format!("[[Target]] and [t](../Target.md#t) {number}\r\n"));
    }
    let mut states = vec![bench.project()];
    let calls = [
        ("update_note", json!({ "page": "Target", "content": "new", "mode": "append" })),
        ("rename_note", json!({ "page": "Target", "new_page": "deep/er/Other" })),
        ("update_frontmatter", json!({ "page": "deep/er/Other", "set": { "x": 2 } })),
        ("search_replace", json!({ "page": "from/3", "search": "3", "replace": "three" })),
        ("create_note", json!({ "page": "new/Page", "content": "[[Other]]" })),
        ("rename_note", json!({ "page": "deep/er/Other", "new_page": "Target" })),
    ];
    for (number, (tool, input)) in calls.iter().enumerate() {
        done(&mut bench, &format!("c{number}"), tool, input.clone());
        states.push(bench.project());
        assert_ne!(states[number], states[number + 1], "{tool}");
    }
    for state in states.iter().rev().skip(1) {
        bench.back(&Wanted::Last);
        assert!(bench.project() == *state);
    }
    // A folder that a call has left empty may be gone.
    let files =
        |state: &Everything| state.iter().filter(|(_, what)| *what != "folder").map(|(path, _)| path.clone()).collect();
    for state in &states[1..] {
        bench.back(&Wanted::Redo);
        let (now, expected): (Vec<PathBuf>, Vec<PathBuf>) = (files(&bench.project()), files(state));
        assert_eq!(now, expected);
        assert!(now.iter().all(|path| bench.project()[path] == state[path]));
    }
    // All at once, to a message in between and to the first one.
    for (calls, state) in [(2, &states[2]), (0, &states[0])] {
        bench.back(&bench.after(calls));
        assert!(bench.project() == *state, "not as after {calls} calls");
    }
}

#[test]
fn two_names_of_one_file_are_taken_back_one_by_one() {
    let mut bench = bench(0);
    let one = bench.shop.put("vault/one.md", "old\n");
    fs::hard_link(&one, bench.shop.path("vault/two.md")).unwrap();
    let before = bench.project();
    done(&mut bench, "c1", "update_note", json!({ "page": "one", "content": "by one" }));
    done(&mut bench, "c2", "update_note", json!({ "page": "two", "content": "by two" }));
    // The write by the other name is not known to be our own, so that nothing is lost without asking.
    let both = bench.propose(&bench.after(0)).unwrap();
    let changed: Vec<bool> = both.files.iter().map(|file| file.is_changed_since).collect();
    assert_eq!(changed.iter().filter(|is| **is).count(), 1, "{changed:?}");
    bench.back(&Wanted::Last);
    assert_eq!(fs::read_to_string(&one).unwrap().trim(), "by one");
    bench.back(&Wanted::Last);
    assert_eq!(bench.project(), before);
}

#[test]
fn a_folder_that_becomes_a_link_is_not_written_through() {
    for _ in 0..40 {
        let bench = bench(0);
        bench.shop.put("outside/page.md", "outside\n");
        bench.shop.put("vault/folder/page.md", "inside\n");
        let (folder, away) = (bench.shop.path("vault/folder"), bench.shop.path("vault/away"));
        let outside = bench.shop.path("outside");
        let pause = Duration::from_micros(fastrand::u64(0..1500));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(pause);
                fs::rename(&folder, &away).unwrap();
                symlink(&outside, &folder).unwrap();
            });
            for _ in 0..5 {
                bench
                    .shop
                    .render("update_note", json!({ "page": "folder/page", "content": "changed", "mode": "append" }));
            }
        });
        assert_eq!(fs::read_to_string(outside.join("page.md")).unwrap(), "outside\n");
        assert_eq!(look(&outside).len(), 1, "nothing else is there");
    }
}

/// Where the other process works.
const TOLD: &str = "FLEMMA_TEST_VAULT";

/// Renames a page back and forth until it is killed. As a test of its own it has nothing to do.
#[test]
#[ignore = "the other process of the test below"]
fn renaming_process() {
    let Some(project) = env::var_os(TOLD).map(PathBuf::from) else { return };
    let mut bench = Bench::new();
    let state = project.parent().unwrap().join("state");
    bench.backups = Backups::new(state.join("changes"), state.join("locks"));
    bench.log = LogKey::File(project.join("notes.chat"));
    bench.shop.context.notes_root = project.join("vault");
    bench.shop.context.cwd = project;
    for number in 0.. {
        let names = if number % 2 == 0 { ["One", "deep/Two"] } else { ["deep/Two", "One"] };
        done(&mut bench, &format!("c{number}"), "rename_note", json!({ "page": names[0], "new_page": names[1] }));
        println!("renamed {number}");
    }
}

/// Whenever the process is killed, the page exists once and whole, and what the call has done so far is taken back.
#[test]
#[ignore = "slow"]
fn a_kill_while_a_page_is_renamed_loses_no_page() {
    for round in 0..10 {
        let bench = bench(0);
        let page = "[self](One.md) [other](from/1.md)\n".repeat(300);
        bench.shop.put("vault/One.md", &page);
        for number in 0..12 {
            bench.shop.put(&format!("vault/from/{number}.md"), format!("[[One]] {number}\n"));
        }
        let original = bench.project();
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "backups::notes::renaming_process", "--ignored", "--nocapture"])
            .env(TOLD, &bench.shop.context.cwd)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("renamed 1") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended by itself");
        }
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..40_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let found: Vec<_> = ["One", "deep/Two"]
            .into_iter()
            .filter_map(|name| fs::read_to_string(bench.shop.path(&format!("vault/{name}.md"))).ok())
            .collect();
        let [content] = &found[..] else { panic!("round {round}: there are {} pages", found.len()) };
        assert_eq!(content.lines().count(), 300, "round {round}");
        // Everything that was done is taken back.
        let proposal = bench.propose(&Wanted::After { before: Vec::new(), after: Vec::new() }).unwrap();
        let problems = bench.apply(&proposal);
        assert!(problems.iter().all(Option::is_none), "{problems:?}");
        let left = |path: &std::path::Path| path.to_string_lossy().contains(".flemma-") || path.is_dir();
        let now: Everything = bench.project().into_iter().filter(|(path, _)| !left(path)).collect();
        let original: Everything = original.into_iter().filter(|(path, _)| !left(path)).collect();
        assert_eq!(now, original, "round {round}");
    }
}
