//! What the store keeps and for how long, and what the log says.

use std::{fs, os::unix::fs::MetadataExt, time::Duration};

use jiff::{SignedDuration, Timestamp};

use flemma_journal::changes::{Line, Wanted};
use flemma_model::CallId;
use flemma_runtime::{
    LockFile,
    backups::{Limits, LogKey},
};

use super::{Bench, edit, look, write};

#[test]
fn only_the_user_can_read_what_is_kept() {
    let mut bench = Bench::new();
    bench.shop.put("secret", "old");
    bench.call("c1", "write", write("secret", "new"));
    let kept: Vec<_> = look(&bench.state()).into_keys().collect();
    assert!(kept.iter().any(|path| fs::read(path).is_ok_and(|content| content == b"old")), "{kept:?}");
    for path in kept.into_iter().chain([bench.state()]) {
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

/// Writes a file four times, each content of a size, and says of each write how many days ago it was.
fn written_days_ago(days: [i64; 4]) -> Bench {
    let mut bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(7);
    let mut content = || std::iter::repeat_with(|| random.alphanumeric()).take(20_000).collect::<String>();
    bench.shop.put("a", content());
    for call in ["c1", "c2", "c3", "c4"] {
        bench.call(call, "write", write("a", &content()));
    }
    let mut days = days.into_iter();
    let log = fs::read_to_string(bench.log_file()).unwrap();
    let aged = log.lines().map(|line| {
        let line = match Line::from_text(line.as_bytes()).unwrap() {
            Line::Change(mut change) => {
                change.at = Timestamp::now() - SignedDuration::from_hours(24 * days.next().unwrap());
                Line::Change(change)
            }
            other => other,
        };
        line.to_text() + "\n"
    });
    let aged: String = aged.collect();
    fs::write(bench.log_file(), aged).unwrap();
    bench
}

/// Which of the contents that were replaced are still kept.
fn kept(bench: &Bench) -> Vec<bool> {
    let is_kept = |calls: usize| bench.propose(&bench.after(calls)).unwrap().files[0].problem.is_none();
    (0..4).map(is_kept).collect()
}

#[test]
fn what_is_older_than_the_limit_goes_and_nothing_else() {
    let bench = written_days_ago([40, 31, 29, 0]);
    let day = Duration::from_secs(24 * 60 * 60);
    let limits = |days: u32| Limits { max_bytes: 1 << 30, max_age: Some(day * days) };
    bench.backups.clean(limits(41)).unwrap();
    assert_eq!(kept(&bench), [true, true, true, true]);
    bench.backups.clean(limits(30)).unwrap();
    assert_eq!(kept(&bench), [false, false, true, true]);
    bench.backups.clean(Limits { max_bytes: 1 << 30, max_age: None }).unwrap();
    assert_eq!(kept(&bench), [false, false, true, true], "without a limit, nothing goes");
    bench.backups.clean(limits(1)).unwrap();
    assert_eq!(kept(&bench), [false, false, false, true]);
}

#[test]
fn the_contents_that_were_replaced_first_go_first() {
    // The order of the log is not that of the times.
    let bench = written_days_ago([1, 4, 2, 3]);
    let sizes = || -> Vec<u64> {
        let files = look(&bench.state().join("contents")).into_keys().filter(|path| path.is_file());
        files.map(|path| fs::metadata(path).unwrap().len()).collect()
    };
    let one = sizes().into_iter().max().unwrap();
    for (room, expected) in [
        (4, [true, true, true, true]),
        (3, [true, false, true, true]),
        (2, [true, false, true, false]),
        (1, [true, false, false, false]),
        (0, [false, false, false, false]),
    ] {
        let limits = Limits { max_bytes: one * room, max_age: None };
        bench.backups.clean(limits).unwrap();
        assert_eq!(kept(&bench), expected, "{room}");
        assert!(sizes().iter().sum::<u64>() <= limits.max_bytes);
    }
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
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), "0");
}

#[test]
fn what_files_were_before_calls_is_known() {
    let mut bench = Bench::new();
    bench.shop.put("a", "1\n2\n");
    bench.call("c1", "edit", edit("a", "2", "two"));
    bench.call("c2", "write", write("b", "1\n"));
    bench.call("c3", "edit", edit("a", "two", "three"));
    let before = |id: &str| bench.backups.before(&bench.log, &Wanted::Call(CallId::from(id))).unwrap();
    let known = |id: &str| (before(id)[0].path.clone(), before(id)[0].before.clone(), before(id)[0].is_lost);
    assert_eq!(known("c1"), (bench.shop.path("a"), Some(b"1\n2\n".to_vec()), false));
    assert_eq!(known("c2"), (bench.shop.path("b"), None, false));
    assert_eq!(known("c3").1.unwrap(), b"1\ntwo\n");
}
