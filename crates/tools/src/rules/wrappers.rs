//! Programs that run the command in their arguments: `env`, `timeout`, `sudo`, `xargs`, `find -exec`.
//!
//! For approval, a wrapper is only taken apart if all of its options are known ([`unwrap`]). For denial, everything that might
//! be a command in it is treated as one ([`inside`]).

use super::{guards, script::CommandRun, strict_lexer, unapprovable, word::Word};

/// The maximum depth of nested commands that are examined.
pub(super) const MAX_DEPTH: usize = 8;

/// How a wrapper's own arguments end and the command begins.
struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options whose value is the next word.
    values: &'static [&'static str],
    /// Beginnings of options that contain their value.
    attached: &'static [&'static str],
    /// The number of its own arguments after the options.
    operands: usize,
    /// Whether `NAME=value` may come before the command.
    assigns: bool,
}

const PLAIN: Wrapper = Wrapper { name: "", flags: &[], values: &[], attached: &[], operands: 0, assigns: false };

const WRAPPERS: [Wrapper; 13] = [
    Wrapper { name: "env", assigns: true, ..PLAIN },
    Wrapper {
        name: "timeout",
        flags: &["--preserve-status", "--foreground", "-v", "--verbose", "-f", "-p"],
        values: &["-k", "-s"],
        attached: &["--kill-after=", "--signal=", "-k", "-s"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "nice", values: &["-n"], attached: &["-n", "--adjustment="], ..PLAIN },
    Wrapper { name: "ionice", flags: &["-t"], values: &["-c", "-n"], attached: &["-c", "-n"], ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "time", flags: &["-p", "-v", "--verbose", "--portability"], ..PLAIN },
    Wrapper { name: "command", ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper {
        name: "stdbuf",
        values: &["-i", "-o", "-e"],
        attached: &["-i", "-o", "-e", "--input=", "--output=", "--error="],
        ..PLAIN
    },
    Wrapper { name: "setsid", flags: &["-w", "-f", "--wait", "--fork"], ..PLAIN },
    Wrapper { name: "sudo", flags: &["-n", "--non-interactive"], assigns: true, ..PLAIN },
    Wrapper { name: "doas", flags: &["-n"], ..PLAIN },
    Wrapper { name: "caffeinate", flags: &["-i", "-s", "-d"], ..PLAIN },
];

/// Programs that take words for the command from elsewhere, run it repeatedly, or keep it for later.
const NEVER: [&str; 8] = ["xargs", "parallel", "watch", "entr", "watchexec", "at", "batch", "crontab"];

/// Programs whose arguments are or contain commands that cannot be analysed here. A rule only approves one if it is written
/// out.
#[rustfmt::skip]
const RUNNERS: [&str; 234] = [
    "aa-exec", "abduco", "apptainer", "arch", "aws-vault", "bash-static", "bpftrace", "bunx", "busybox", "bwrap",
    "byobu", "capsh", "catchsegv", "cgexec", "chamber", "choom", "chpst", "chronic", "chroot", "chrt", "clush",
    "code", "code-insiders", "concurrently", "coz", "cpan", "cpanm", "cpulimit", "crictl", "cross-env", "crun", "ctr",
    "dbus-launch", "dbus-run-session", "dc", "direnv", "distrobox", "dlv", "doppler", "dotenv", "dotenvx", "dsh",
    "dtach", "dtrace", "duckdb", "dumb-init", "eatmydata", "ed", "emacs", "envchain", "envdir", "envuidgid", "ex",
    "expect", "fakeroot", "faketime", "firejail", "flatpak", "flatpak-spawn", "flock", "forego", "foreman", "gdb",
    "gdbserver", "gforth", "gnuplot", "gosu", "gs", "gvim", "gvimdiff", "heaptrack", "helix", "hivemind", "honcho",
    "hx", "hyperfine", "i386", "ifne", "incus", "isql", "joe", "jove", "kak", "lckdo", "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2", "ld-linux.so.2", "ld.so", "linux32", "linux64", "lldb", "lldb-server", "lockf", "ltrace",
    "lxc", "lxc-attach", "m4", "machinectl", "mariadb", "mc", "mcedit", "micro", "mispipe", "mlr", "mongo", "mongosh",
    "mpiexec", "mpirun", "multipass", "mysql", "nano", "ne", "newgrp", "nix-shell", "nodemon", "npm-run-all",
    "npm-run-all2", "npx", "nq", "nsenter", "numactl", "nvim", "nvimdiff", "ocamlrun", "op", "overmind", "pdb",
    "pdsh", "pee", "perf", "pg_ctl", "pico", "pkexec", "pnpx", "prlimit", "proot", "proxychains", "proxychains4",
    "psql", "pssh", "ptyexec", "pydoc", "qemu-aarch64", "qemu-arm", "qemu-system-x86_64", "qemu-x86_64", "rdbg", "redis-cli",
    "retry", "rlfe", "rlwrap", "rr", "run-one", "run-one-constantly", "run-one-until-failure", "run-one-until-success",
    "run-this-one", "run-p", "run-parts", "run-s", "run0", "runc", "runcon", "runit", "runsv",
    "runuser", "rust-gdb", "rust-lldb", "rview", "rvim", "s6-setuidgid", "sbt", "screen", "script", "scriptreplay",
    "sem", "setarch", "setlock", "setpriv", "setuidgid", "sg", "singularity", "socat", "softlimit", "sqlite3",
    "sqlplus", "ssh-agent", "sshpass", "stap", "start-stop-daemon", "startx", "strace", "su", "su-exec",
    "supervisord", "swaks", "systemd-cat", "systemd-inhibit", "systemd-nspawn", "systemd-run", "taskset", "teller",
    "tini", "tmux", "toolbox", "torify", "torsocks", "toybox", "trickle", "tsocks", "tsp", "uftrace", "uname26",
    "unbuffer", "unshare", "usql", "uvx", "valgrind", "vi", "view", "vim", "vimdiff", "vimtutor", "vipe", "wine",
    "wine64", "winpty", "wsl", "x86_64", "xinit", "xtrace", "xvfb-run", "zargs", "zellij",
];

/// Options of `find`, `fd` and the like that are followed by a command.
pub(super) const EXEC: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// The maximum number of words of a command that are searched for other commands.
const MAX_WORDS: usize = 64;

/// What a wrapper runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InnerCommand {
    /// This.
    Run(CommandRun),
    /// Nothing: it only prints information.
    Nothing,
    /// It is not known exactly.
    Unclear,
}

/// Whether a program always needs approval, since its arguments do not contain the whole command.
pub(super) fn is_never_approved(program: &str) -> bool {
    NEVER.contains(&program)
}

/// Whether a wildcard never matches an argument of this program.
pub(super) fn is_runner(program: &str) -> bool {
    guards::names(program).iter().any(|name| RUNNERS.contains(name))
}

/// What a wrapper runs; `None` for every other command.
pub(super) fn unwrap(run: &CommandRun) -> Option<InnerCommand> {
    let program = unapprovable::program(run.words.first()?.known()?);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == program)?;
    Some(take_apart(wrapper, run).unwrap_or(InnerCommand::Unclear))
}

fn take_apart(wrapper: &Wrapper, run: &CommandRun) -> Option<InnerCommand> {
    let mut rest = &run.words[1..];
    if wrapper.name == "command"
        && let Some("-v" | "-V") = rest.first().and_then(Word::known)
    {
        return Some(InnerCommand::Nothing);
    }
    while let Some(option) = rest.first().and_then(Word::known).filter(|text| text.starts_with('-')) {
        let used = if wrapper.flags.contains(&option) {
            1
        } else if wrapper.values.contains(&option) {
            2
        } else if wrapper.attached.iter().any(|prefix| option.len() > prefix.len() && option.starts_with(prefix)) {
            1
        } else {
            return None;
        };
        rest = rest.get(used..)?;
    }
    rest = rest.get(wrapper.operands..)?;
    let mut inner = CommandRun { input: run.input.clone(), fed: run.fed, ..CommandRun::default() };
    while let Some(word) = rest.first().filter(|word| wrapper.assigns && is_assignment(word)) {
        inner.assignments.push(word.clone());
        rest = &rest[1..];
    }
    if rest.is_empty() {
        return (wrapper.name == "env" && inner.assignments.is_empty()).then_some(InnerCommand::Nothing);
    }
    inner.words = rest.to_vec();
    Some(InnerCommand::Run(inner))
}

fn is_assignment(word: &Word) -> bool {
    word.known().and_then(|text| text.split_once('=')).is_some_and(|(name, _)| strict_lexer::is_name(name))
}

/// The commands that the arguments of another command may run, for comparison with the denying rules; `None` if there are
/// too many.
pub(super) fn inside(run: &CommandRun) -> Option<Vec<CommandRun>> {
    let Some(program) = run.words.first().and_then(Word::known).map(unapprovable::program) else {
        return Some(Vec::new());
    };
    let from = |start: usize| CommandRun {
        words: run.words[start..].to_vec(),
        input: run.input.clone(),
        fed: run.fed,
        ..CommandRun::default()
    };
    let few = run.words.len() <= MAX_WORDS;
    let any = || few.then(|| (1..run.words.len()).map(from).collect());
    match program.as_str() {
        "find" | "fd" | "fdfind" | "bfs" => {
            let execs = |word: &Word| word.known().is_some_and(|word| EXEC.contains(&word));
            let places = (1..run.words.len()).filter(|place| execs(&run.words[place - 1]));
            few.then(|| places.map(from).collect())
        }
        // `git -C elsewhere push` is a `git push` as well.
        "git" => {
            let place = super::git::subcommand(&run.words).filter(|place| *place > 1);
            let plain = place.map(|place| {
                let mut inner = from(place);
                inner.words.insert(0, run.words[0].clone());
                inner
            });
            Some(plain.into_iter().collect())
        }
        _ => match unwrap(run) {
            Some(InnerCommand::Run(inner)) => Some(vec![inner]),
            Some(InnerCommand::Nothing) => Some(Vec::new()),
            Some(InnerCommand::Unclear) => any(),
            None if is_runner(&program) || is_never_approved(&program) || program == "exec" => any(),
            None => Some(Vec::new()),
        },
    }
}
