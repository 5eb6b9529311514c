//! What bash really runs of the commands that rules approve.
//!
//! The invariant: if the verdict is to approve, bash runs only commands that the rules approve by themselves, in the
//! conversation's folder unless they merely read and print, with every exported variable as it was, and writes no
//! file.
//!
//! What is approved where another shell reads it has to run the same in all of them: in bash 5, in `dash`, and in the bash 3.2
//! that `FLEMMA_BASH32` names.
//!
//! Every approved command runs in an empty folder, with a `PATH` that has nothing but programs that write down how
//! they were called, where, and with what environment. Commands with a path in them are left out: nothing real is to
//! run.

use std::{
    cell::Cell,
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use flemma_process::{Grammar, Shell};
use flemma_tools::{
    approval::Decision,
    rules::{CommandShell, PathBase, Rule, Subject, decide, suggest},
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{EXPORTED, GENEROUS, approvals::APPROVED, attacks::ATTACKS, path_base, rules};

/// The programs that are there. None of them does anything.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "git", "cargo", "ls", "cat", "rg", "grep", "find", "fd", "sort", "sed", "awk", "gawk", "tar", "make", "npm",
    "env", "timeout", "nice", "nohup", "stdbuf", "setsid", "sudo", "python3", "bash", "sh", "zsh", "node", "perl",
    "ruby", "php", "deno", "head", "wc", "diff", "rsync", "ssh", "less", "man", "vim", "pytest", "go", "curl",
    "strace", "uniq", "docker", "gcc", "busybox", "date", "split", "zip", "cmake", "uv", "tree", "rm", "x", "cp", "a",
    "b", "EOF", "status", "xargs", "tee", "f", "A", "B", "kubectl",
];

/// Programs that may run in another folder, since they only read and print.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "ls", "cat", "wc", "head", "grep", "rg", "find", "fd", "sort", "sed", "awk", "gawk", "diff", "date", "tree", "env", "jq",
];

/// What changes with the folder and with each shell, and what a rule of these tests sets.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_", "RUST_LOG"];

/// In a command, the folder that it runs in.
const HERE: &str = "@HERE@";

/// A call that was written down.
#[derive(Debug)]
struct Call {
    /// It, as a command line.
    text: String,
    /// Where it ran.
    folder: PathBuf,
    /// The variables that it got, as bash declares them.
    environment: BTreeSet<String>,
}

impl Call {
    fn read(line: &str) -> Self {
        let [text, folder, environment] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("odd: {line:?}") };
        let is_own = |line: &&str| {
            let name = line.trim_start_matches("declare -x ").split('=').next().unwrap();
            !OWN.contains(&name)
        };
        // It is quoted as `$'…'`, with a line for each variable.
        let environment = environment.split("\\n").map(|line| line.trim_start_matches("$'").trim_end_matches('\''));
        Self {
            text: text.to_owned(),
            folder: folder.into(),
            environment: environment.filter(is_own).map(str::to_owned).collect(),
        }
    }

    /// Whether it only reads and prints, behind a wrapper or not.
    fn reads(&self) -> bool {
        let wrappers = ["timeout", "nice", "nohup", "stdbuf", "setsid", "sudo", "env", "time"];
        let mut words = self.text.split_whitespace().skip_while(|word| {
            wrappers.contains(word) || word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit())
        });
        words.next().is_none_or(|program| READERS.contains(&program))
    }
}

struct Stage {
    dir: tempfile::TempDir,
    bash: Shell,
    /// The other shells.
    others: Vec<PathBuf>,
    /// How many commands ran in all of them.
    compared: Cell<usize>,
    /// What the environment is where nothing changes it.
    environment: BTreeSet<String>,
}

impl Stage {
    /// A stage with the bash 5 of this machine.
    fn new() -> Self {
        let bash = Shell::find(None).ok().filter(|shell| shell.grammar == Grammar::Bash).expect("a bash 5");
        let older = std::env::var_os("FLEMMA_BASH32").map(PathBuf::from);
        let others: Vec<_> = older.into_iter().chain(Shell::find(Some("dash")).ok().map(|dash| dash.program)).collect();
        if others.is_empty() {
            eprintln!("no other shell to compare with");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let stub = dir.path().join("stub");
        // One write a call, so that calls that run at the same time do not mix.
        let text = format!(
            "#!{}\nprintf -v call '%q ' \"${{0##*/}}\" \"$@\"\n\
             printf -v call '%s\\t%s\\t%q' \"$call\" \"$(pwd -P)\" \"$(export -p)\"\n\
             echo \"$call\" >> \"${{0%/*}}/../record\"\n",
            bash.program.display()
        );
        fs::write(&stub, text).unwrap();
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
        for program in PROGRAMS {
            symlink(&stub, dir.path().join("bin").join(program)).unwrap();
        }
        let mut stage = Self { dir, bash, others, compared: Cell::default(), environment: BTreeSet::new() };
        let plain = stage.run("ls", &[]);
        stage.environment = plain.into_iter().next().unwrap().environment;
        assert!(stage.environment.iter().any(|line| line.starts_with("declare -x KUBECONFIG=")));
        stage
    }

    /// The folder that commands run in. It is made anew for each.
    fn here(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    fn path_base(&self) -> PathBase {
        PathBase { folder: self.here(), ..path_base() }
    }

    fn approves(&self, rules: &[Rule], text: &str) -> bool {
        decide(rules, "bash", &Subject::Command(text), &self.path_base()) == Some(Decision::Approve)
    }

    /// The calls that a command makes in bash 5.
    fn run(&self, text: &str, options: &[&str]) -> Vec<Call> {
        self.run_in(&self.bash.program, text, options)
    }

    /// The calls that a command makes in a shell.
    fn run_in(&self, shell: &Path, text: &str, options: &[&str]) -> Vec<Call> {
        let (work, record) = (self.here(), self.dir.path().join("record"));
        if work.exists() {
            fs::remove_dir_all(&work).unwrap();
        }
        // Folders to go to.
        for folder in ["", "a", "sub"] {
            fs::create_dir(work.join(folder)).unwrap();
        }
        fs::write(&record, "").unwrap();
        // Whatever it starts inherits a copy of the pipe that no redirection takes away.
        let mut child = Command::new("/bin/sh")
            .args(["-c", "exec \"$0\" \"$@\" 9>&1"])
            .arg(shell)
            .args(options)
            .arg("-c")
            .arg(text)
            .current_dir(&work)
            .env_clear()
            .envs(EXPORTED.iter().map(|name| (name, "original")))
            .envs(self.bash.locale.map(|locale| ("LC_ALL", locale)))
            .env("PATH", self.dir.path().join("bin"))
            .env("HOME", &work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // What runs in the background has the pipe too: it has ended when nobody can write to it any more.
        let mut output = child.stdout.take().unwrap();
        let (tell, ended) = mpsc::channel();
        thread::spawn(move || tell.send(io::copy(&mut output, &mut io::sink())));
        match ended.recv_timeout(Duration::from_secs(30)) {
            Ok(read) => drop(read.unwrap()),
            Err(_) => {
                child.kill().unwrap();
                panic!("it does not end: {text:?}");
            }
        }
        child.wait().unwrap();
        let written: BTreeSet<_> = fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(written, ["a", "sub"].into_iter().map(Into::into).collect(), "{text:?} made files");
        fs::read_to_string(&record).unwrap().lines().map(Call::read).collect()
    }

    /// A command as it runs here, if it is approved and nothing real can run.
    fn approved(&self, rules: &[Rule], text: &str) -> Option<String> {
        let is_harmless = !text.replace("/dev/null", "").contains('/') && !text.contains("cd -");
        let text = text.replace(HERE, self.here().to_str().unwrap());
        (is_harmless && self.approves(rules, &text)).then_some(text)
    }

    /// Runs a command if it is approved, and says whether it was.
    fn check(&self, rules: &[Rule], text: &str) -> bool {
        let (here, Some(text)) = (self.here(), &self.approved(rules, text)) else { return false };
        // What is suggested has no wildcard, so that what ran must be what was read, to the letter.
        let exact = suggest("bash", &Subject::Command(text), &self.path_base()).map(|entries| {
            let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
            super::rules(&entries)
        });
        for options in [&[][..], &["--posix"]] {
            for call in self.run(text, options) {
                // A rule about a variable is about the call that it is set for.
                let calls = [call.text.clone(), format!("RUST_LOG=debug {}", call.text)];
                for rules in std::iter::once(rules).chain(exact.as_deref()) {
                    let approved = calls.iter().any(|call| self.approves(rules, call));
                    assert!(approved, "{text:?} ran {call:?}, which {rules:?} do not approve");
                }
                assert!(call.folder == here || call.reads(), "{text:?} ran {call:?} in another folder");
                assert_eq!(call.environment, self.environment, "{text:?} changed what {:?} gets", call.text);
            }
        }
        self.compare(rules, text);
        true
    }

    /// Runs a command in all shells if it is approved whatever shell reads it.
    fn compare(&self, rules: &[Rule], text: &str) {
        let path_base = PathBase { shell: CommandShell::Known(Grammar::Posix), ..self.path_base() };
        if decide(rules, "bash", &Subject::Command(text), &path_base) != Some(Decision::Approve) {
            return;
        }
        let calls = |shell: &Path| {
            let mut calls: Vec<_> =
                self.run_in(shell, text, &[]).into_iter().map(|call| (call.text, call.folder)).collect();
            calls.sort();
            calls
        };
        let expected = calls(&self.bash.program);
        for shell in &self.others {
            assert_eq!(calls(shell), expected, "{text:?} is something else in {}", shell.display());
        }
        self.compared.set(self.compared.get() + 1);
    }
}

/// How many stages run commands at the same time: most of the time goes by until a shell or a program has started.
const STAGES: usize = 4;

/// Runs those of the commands that their rules approve. Gives how many these are, and how many of them ran in all shells.
fn check_all(commands: &[(Arc<[Rule]>, String)]) -> (usize, usize) {
    let check = |commands: &[(Arc<[Rule]>, String)]| {
        let stage = Stage::new();
        let ran = commands.iter().filter(|(rules, text)| stage.check(rules, text)).count();
        (ran, stage.compared.get())
    };
    thread::scope(|scope| {
        let parts = commands.chunks(commands.len().div_ceil(STAGES));
        let stages: Vec<_> = parts.map(|part| scope.spawn(move || check(part))).collect();
        let done = stages.into_iter().map(|stage| stage.join().unwrap());
        done.fold((0, 0), |(ran, compared), (more, more_compared)| (ran + more, compared + more_compared))
    })
}

#[test]
#[ignore = "slow"]
fn bash_runs_of_the_tables_only_what_is_approved() {
    let tables = APPROVED.iter().copied().chain(ATTACKS.iter().map(|(_, entries, commands)| (*entries, *commands)));
    // A tool that is approved as a whole may do anything, and does.
    let tables = tables.filter(|(entries, _)| !entries.iter().any(|entry| ["bash", "bash(*)"].contains(entry)));
    let commands = tables.flat_map(|(entries, commands)| {
        let rules: Arc<[Rule]> = rules(entries).into();
        commands.iter().map(move |text| (Arc::clone(&rules), (*text).to_owned()))
    });
    let (ran, compared) = check_all(&commands.collect::<Vec<_>>());
    assert!(ran > 60, "only {ran} ran");
    assert!(compared > 15, "only {compared} ran in all shells");
}

#[test]
#[ignore = "slow"]
fn bash_runs_of_random_commands_only_what_is_approved() {
    let rules: Arc<[Rule]> = rules(GENEROUS).into();
    #[rustfmt::skip]
    let token = prop::sample::select(vec![
        "ls", "git status", "cat", "echo", "rm x", "wc", "x", "\\", "'", "\"", "#", "\n", ";", "&", "|", "&&", "||",
        " ", " ", "  ", "(", ")", "{ ", "; }", "$(", "\"$(", ")\"", "`", "<(", "<<'EOF'", "<<EOF", "\nEOF\n", "<<<",
        "2>&1", ">/dev/null", "</dev/null", "!", "$'", "a", "=", "if ", "; then ", "; fi", "for f in a", "; do ",
        "; done", "case a in ", "a) ", ";; esac", "\\\n", "\t", "env ", "timeout 5 ", "{", "}", "-n", "time ", "\\$", "\"\\a\"", "$'\\x41\\''", "a=b", "$",
        "EOF", "$\\\n(", "cd sub", "cd a", "cd .", "cd @HERE@", "pushd sub", "popd", "cargo test", "make", "for item in a",
        "for KUBECONFIG in a", "for file in a b", "printf '%n' PATH", "printf '%3n' KUBECONFIG", "printf a", "kubectl get a",
        "npm run a", "rg x", "(cd sub", "; ", " && ", "&>", "|&", "12>", "ls 'a;b'", " \"c|d\"", "{a,b}", "é", "(\\\n(", "&\\\n>", "[[ a =~ (#) ]]", "trap -- ", "\u{8a3c}", "chdir ", ">& /dev/null",
    ]);
    let commands = prop::collection::vec(token, 1..12).prop_map(|tokens| tokens.concat());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let stage = Stage::new();
    let mut approved = BTreeSet::new();
    for _ in 0..40_000 {
        let text = commands.new_tree(&mut runner).unwrap().current();
        if approved.len() < 250 && stage.approved(&rules, &text).is_some() {
            approved.insert(text);
        }
    }
    let commands: Vec<_> = approved.into_iter().map(|text| (Arc::clone(&rules), text)).collect();
    let (ran, compared) = check_all(&commands);
    assert!(ran > 50, "only {ran} ran");
    assert!(compared > 30, "only {compared} ran in all shells");
}

/// Ways to set the variable `N`, before `RUN` or around it.
#[rustfmt::skip]
const ASSIGNMENTS: &[&str] = &[
    "for N in x; do RUN; done", "for N in x y; do :; done; RUN", "for N; do RUN; done", "{ for N in x; do ls; done; }; RUN",
    "printf 'ab%n' N; RUN", "printf '%*n' 3 N; RUN", "printf '%-5.2ln' N; RUN", "printf -v N x; RUN", "printf -vN x; RUN",
    "printf -- 'a%n' N; RUN", "builtin printf 'a%n' N; RUN", "command printf 'a%n' N; RUN", "printf '%s%n' a N; RUN",
    "printf 'a%%%n' N; RUN", "read N <<< x; RUN", "read -r N < <(echo x); RUN", "mapfile N <<< x; RUN", "readarray N <<< x; RUN",
    "N=x; RUN", "N=x RUN", "N+=x RUN", "N=x : ; RUN", "N=x exit | RUN", "export N=x; RUN", "declare -x N=x; RUN", "typeset N=x; RUN",
    "declare -g N=x; RUN", "readonly N=x; RUN", "local N=x; RUN", "let N=1; RUN", "((N=1)); RUN", "for ((N=1;N<2;N++)); do RUN; done",
    ": ${N:=x}; RUN", ": ${N=x}; RUN", "echo $((N=1)); RUN", "echo $[N=1]; RUN", "getopts a N -a; RUN", "wait -p N; RUN",
    "select N in x; do RUN; done <<< 1", "coproc N { ls; }; RUN", "unset N; RUN", "exec {N}< /dev/null; RUN", "ls {N}>/dev/null; RUN",
    "test -v N; RUN", "test -v 'a[N=1]'; RUN", "[ -v 'a[N=1]' ]; RUN", "[[ -v 'a[N=1]' ]]; RUN", "[[ 'N=1' -eq 1 ]]; RUN", "env N=x RUN",
    "env -u N RUN", "env -i RUN", "set -a; for N in x; do RUN; done", "eval N=x; RUN", "command eval N=x; RUN", "alias ls=N; RUN",
    "printf '%d' 'a[N=1]'; RUN", "printf '%(%n)T' N; RUN", "trap 'N=x' DEBUG; RUN", "f() { N=x; }; f; RUN", "export -n N; RUN",
    "time for N in x; do RUN; done", "if for N in x; do ls; done; then RUN; fi", "exec env N=x RUN", "source <(echo N=x); RUN",
];

/// Ways to go to another folder, before `RUN` or around it.
#[rustfmt::skip]
const MOVES: &[&str] = &[
    "cd sub && RUN", "cd sub; RUN", "(cd sub && RUN)", "{ cd sub; RUN; }", "pushd sub && RUN", "pushd sub; popd; RUN", "cd . && cd sub && RUN",
    "if cd sub; then RUN; fi", "while cd sub; do RUN; break; done", "for file in a; do cd sub; RUN; done", "cd ./sub; RUN", "cd sub & RUN",
    "echo \"$(cd sub && RUN)\"", "cat <(cd sub && RUN)", "builtin cd sub; RUN", "command cd sub; RUN", "cd 'sub'; RUN", "c\\d sub; RUN", "RUN; cd sub",
    "cd sub | RUN", "ls && cd a || RUN", "! cd sub; RUN", "time cd sub; RUN", "cd; RUN", "cd -- sub; RUN", "cd -P sub; RUN", "cd @HERE@ && RUN",
    "cd . && RUN", "cd @HERE@; cd sub; RUN", "cd @HERE@sub; RUN", "env -C sub RUN", "env --chdir=sub RUN", "chdir sub; RUN", "case a in a) cd sub;; esac; RUN",
    "until cd sub; do ls; done; RUN", "cat <<EOF\n$(cd sub && RUN)\nEOF", "cd sub && timeout 5 RUN", "cd sub && nice -n 5 RUN", "CDPATH=a cd sub; RUN",
];

/// Rules that would allow all of it, if rules could.
const EVERYTHING: &[&str] = &[
    "bash(for *)",
    "bash(kubectl *)",
    "bash(pushd *)",
    "bash(popd)",
    "bash(chdir *)",
    "bash(jq *)",
    "bash(break)",
    "bash(exit)",
    "bash(tee *)",
    "bash(KUBECONFIG=x :)",
    "bash(item=x :)",
];

#[test]
#[ignore = "slow"]
fn bash_gives_what_is_approved_its_own_folder_and_environment() {
    let entries: Vec<&str> = GENEROUS.iter().chain(EVERYTHING).copied().collect();
    let rules: Arc<[Rule]> = rules(&entries).into();
    let names = [
        "KUBECONFIG",
        "RIPGREP_CONFIG_PATH",
        "RUSTUP_TOOLCHAIN",
        "PATH",
        "HOME",
        "http_proxy",
        "item",
        "file",
        "OPTIND",
    ];
    let runs = ["ls", "rg x", "kubectl get a", "cargo test", "git status", "make all", "npm test", "cat a"];
    let texts = runs.into_iter().flat_map(|run| {
        let set = |text: &str, name: &str| text.replace("RUN", run).replace('N', name);
        let assigning = ASSIGNMENTS.iter().flat_map(|text| names.map(|name| set(text, name)));
        assigning.chain(MOVES.iter().map(|text| text.replace("RUN", run))).collect::<Vec<_>>()
    });
    let commands: Vec<_> = texts.map(|text| (Arc::clone(&rules), text)).collect();
    let (ran, _) = check_all(&commands);
    let tried = commands.len();
    assert!(tried > 4_000, "only {tried} were tried");
    assert!(ran > 100, "only {ran} of {tried} ran");
}

#[test]
fn the_stage_sees_what_runs() {
    let stage = Stage::new();
    let seen = |text: &str| stage.run(text, &[]);
    let texts: BTreeSet<String> = seen("git 'a b' | wc; $(echo rm) x").into_iter().map(|call| call.text).collect();
    assert_eq!(texts.len(), 3);
    for text in ["for item in x; do ls; done", "printf 'abc%n' KUBECONFIG; ls", "http_proxy=x ls"] {
        assert!(seen(text).iter().all(|call| call.environment != stage.environment), "{text}");
    }
    assert!(seen("cd sub && git status").iter().all(|call| call.folder == stage.here().join("sub") && !call.reads()));
    assert!(seen("cd . && timeout 5 cat a").iter().all(|call| call.folder == stage.here() && call.reads()));
    assert!(!Path::new("work").exists());
}
