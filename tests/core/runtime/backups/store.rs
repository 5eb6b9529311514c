//! What the store keeps and for how long, and what the log says.

use std::{fs, os::unix::fs::MetadataExt, time::Duration};

use flemma::{
    changes::Wanted,
    model::CallId,
    runtime::{
        LockFile,
        backups::{Limits, LogKey},
    },
};

use super::{Bench, edit, look, write};

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
