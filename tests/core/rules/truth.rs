//! What bash really runs of the commands that rules approve.
//!
//! Every approved command runs in an empty folder, with a `PATH` that has nothing but programs that write down how
//! they were called. Each call that was written down must be one that the same rules approve by itself, and no file
//! may have come into being. Commands with a path in them are left out: nothing real is to run.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use flemma::tools::{
    approval::Decision,
    rules::{Rule, Subject, suggest},
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{GENEROUS, approvals::APPROVED, attacks::ATTACKS, command, ground, rules};

/// The programs that are there. None of them does anything.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "git", "cargo", "ls", "cat", "rg", "grep", "find", "fd", "sort", "sed", "awk", "gawk", "tar", "make", "npm",
    "env", "timeout", "nice", "nohup", "stdbuf", "setsid", "sudo", "python3", "bash", "sh", "zsh", "node", "perl",
    "ruby", "php", "deno", "head", "wc", "diff", "rsync", "ssh", "less", "man", "vim", "pytest", "go", "curl",
    "strace", "uniq", "docker", "gcc", "busybox", "date", "split", "zip", "cmake", "uv", "tree", "rm", "x", "cp", "a",
    "b", "EOF", "status", "xargs", "tee", "f", "A", "B",
];

struct Stage {
    dir: tempfile::TempDir,
    bash: PathBuf,
}

impl Stage {
    /// A stage, or `None` where there is no bash.
    fn new() -> Option<Self> {
        let bash =
            std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join("bash")).find(|bash| bash.is_file());
        let Some(bash) = bash else {
            eprintln!("skipped: there is no bash");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let stub = dir.path().join("stub");
        // One write a call, so that calls that run at the same time do not mix.
        let text = format!(
            "#!{}\nprintf -v call '%q ' \"${{0##*/}}\" \"$@\"\necho \"$call\" >> \"$RECORD\"\n",
            bash.display()
        );
        fs::write(&stub, text).unwrap();
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
        for program in PROGRAMS {
            symlink(&stub, dir.path().join("bin").join(program)).unwrap();
        }
        Some(Self { dir, bash })
    }

    /// The calls that a command makes, each as a command line.
    fn run(&self, text: &str, options: &[&str]) -> Vec<String> {
        let own = tempfile::tempdir_in(self.dir.path()).unwrap();
        let (work, record) = (own.path().join("work"), own.path().join("record"));
        fs::create_dir(&work).unwrap();
        fs::write(&record, "").unwrap();
        let mut child = Command::new(&self.bash)
            .args(options)
            .arg("-c")
            .arg(text)
            .current_dir(&work)
            .env_clear()
            .env("PATH", self.dir.path().join("bin"))
            .env("RECORD", &record)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // What runs in the background has the pipe too: it has ended when nobody can write to it any more.
        let mut output = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || io::copy(&mut output, &mut io::sink()));
        let end = Instant::now() + Duration::from_secs(30);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
                panic!("it does not end: {text:?}");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        reader.join().unwrap().unwrap();
        let written: Vec<_> = fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(written.is_empty(), "{text:?} made {written:?}");
        fs::read_to_string(&record).unwrap().lines().map(str::to_owned).collect()
    }

    /// Runs a command if it is approved, and says whether it was.
    fn check(&self, rules: &[Rule], text: &str) -> bool {
        let harmless = !text.replace("/dev/null", "").contains('/') && !text.contains("cd ");
        if !harmless || command(rules, text) != Some(Decision::Approve) {
            return false;
        }
        // What is suggested has no wildcard, so that what ran must be what was read, to the letter.
        let exact = suggest("bash", &Subject::Command(text), &ground()).map(|entries| {
            let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
            super::rules(&entries)
        });
        for options in [&[][..], &["--norc", "--noprofile"]] {
            for call in self.run(text, options) {
                // A rule about a variable is about the call that it is set for.
                let calls = [call.clone(), format!("RUST_LOG=debug {call}")];
                for rules in std::iter::once(rules).chain(exact.as_deref()) {
                    let approved = calls.iter().any(|call| command(rules, call) == Some(Decision::Approve));
                    assert!(approved, "{text:?} ran {call:?}, which {rules:?} do not approve");
                }
            }
        }
        true
    }
}

#[test]
fn bash_runs_of_the_tables_only_what_is_approved() {
    let Some(stage) = Stage::new() else { return };
    let tables = APPROVED.iter().copied().chain(ATTACKS.iter().map(|(_, entries, commands)| (*entries, *commands)));
    let mut run = 0;
    for (entries, commands) in tables {
        // A tool that is approved as a whole may do anything, and does.
        if entries.iter().any(|entry| ["bash", "bash(*)"].contains(entry)) {
            continue;
        }
        let rules = rules(entries);
        run += commands.iter().filter(|text| stage.check(&rules, text)).count();
    }
    assert!(run > 60, "only {run} ran");
}

#[test]
fn bash_runs_of_random_commands_only_what_is_approved() {
    let Some(stage) = Stage::new() else { return };
    let rules = rules(GENEROUS);
    #[rustfmt::skip]
    let token = prop::sample::select(vec![
        "ls", "git status", "cat", "echo", "rm x", "wc", "x", "\\", "'", "\"", "#", "\n", ";", "&", "|", "&&", "||",
        " ", " ", "  ", "(", ")", "{ ", "; }", "$(", "\"$(", ")\"", "`", "<(", "<<'EOF'", "<<EOF", "\nEOF\n", "<<<",
        "2>&1", ">/dev/null", "</dev/null", "!", "$'", "a", "=", "if ", "; then ", "; fi", "for f in a", "; do ",
        "; done", "case a in ", "a) ", ";; esac", "\\\n", "\t", "env ", "timeout 5 ", "{", "}", "-n", "time ", "\\$", "\"\\a\"", "$'\\x41\\''", "a=b", "$",
        "EOF", "$\\\n(",
    ]);
    let commands = prop::collection::vec(token, 1..12).prop_map(|tokens| tokens.concat());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut ran = BTreeSet::new();
    for _ in 0..30_000 {
        let text = commands.new_tree(&mut runner).unwrap().current();
        if ran.len() < 250 && !ran.contains(&text) && stage.check(&rules, &text) {
            ran.insert(text);
        }
    }
    assert!(ran.len() > 50, "only {} ran", ran.len());
}

#[test]
fn the_stage_sees_what_runs() {
    let Some(stage) = Stage::new() else { return };
    assert_eq!(stage.run("git 'a b' | wc; $(echo rm) x", &[]).into_iter().collect::<BTreeSet<_>>().len(), 3);
    assert!(!Path::new("work").exists());
}
