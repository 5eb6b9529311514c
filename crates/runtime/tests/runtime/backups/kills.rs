//! Processes that are killed while they write.

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use flemma_journal::changes::Wanted;
use flemma_runtime::backups::{Backups, LogKey};

use super::{Bench, Everything, write};

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
#[ignore = "slow"]
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
                .args(["--exact", "backups::kills::another_process", "--ignored", "--nocapture"])
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
