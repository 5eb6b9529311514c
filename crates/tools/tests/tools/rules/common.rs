//! Lines that other shells read differently from bash 5, and which shell it is.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use flemma_process::{Grammar, Shell};
use flemma_tools::{
    approval::Decision,
    rules::{CommandShell, PathBase, Rule, Subject, decide},
};

use super::{GENEROUS, path_base, rules};

/// What rules say of a command that this shell reads.
fn read_by(shell: CommandShell, rules: &[Rule], command: &str) -> Option<Decision> {
    decide(rules, "bash", &Subject::Command(command), &PathBase { shell, ..path_base() })
}

/// Lines that bash 5 reads as something harmless, and what another shell makes of them.
#[rustfmt::skip]
const READ_DIFFERENTLY: &[(&str, &str)] = &[
    ("dash: `&` and `>`", "ls &>/dev/null"),
    ("dash: `$` and `'…'`", r"echo $'a\'b' 'git status; rm x'"),
    ("dash: `<(` is an error, or a redirection", "cat <(ls)"),
    ("dash: `12` is a word", "ls 12>/dev/null"),
    ("dash: `1<` is a redirection", "ls 2>&1</dev/null"),
    ("dash: `|` and `&`", "ls |& cat"),
    ("dash: no here-strings", "cat <<< 'rm x'"),
    ("dash: a program called `time`", "time ls"),
    ("dash: a built-in command", "chdir sub; ls"),
    ("bash 3.2: a comment in a substitution", "cat <(ls # it's\n)"),
    ("bash 3.2: a here-document in a substitution", "echo \"$(cat <<'EOF'\n)\nEOF\n)\""),
    ("GBK: the second byte is a backslash", "ls '\u{8a3c}'"),
    ("no expansion of braces", "ls {a,b}"),
    ("backslashes", r"ls a\;b"),
    ("a variable", "for f in a; do ls; done"),
];

/// Lines that every shell reads alike.
const READ_ALIKE: &[&str] = &[
    "git status",
    "git log --oneline -5 2>/dev/null | head -n 3",
    "cargo test --lib && git status; ls 'a b' \"c ( d\"\nls >/dev/null 2>&1 &",
    "cat a || echo 'it is $5 \\ `x`'",
    "grep -rn foo=bar src </dev/null",
];

#[test]
fn what_another_shell_reads_differently_asks() {
    let (rules, posix) = (rules(GENEROUS), || CommandShell::Known(Grammar::Posix));
    let unknown = || CommandShell::Known(Grammar::Unknown);
    for command in READ_ALIKE {
        for shell in [CommandShell::default(), posix()] {
            assert_eq!(read_by(shell, &rules, command), Some(Decision::Approve), "{command}");
        }
        assert_eq!(read_by(unknown(), &rules, command), None, "{command}");
    }
    let denying = super::rules(&["bash", "!bash(rm *)"]);
    for (why, command) in READ_DIFFERENTLY {
        for shell in [posix(), unknown()] {
            assert_eq!(read_by(shell.clone(), &rules, command), None, "{why}: {command}");
            let denied = read_by(shell, &denying, command);
            assert_eq!(denied, Some(Decision::RequireApproval), "{why}: {command}");
        }
    }
}

#[test]
fn a_reader_elsewhere_asks_if_programs_come_from_there() {
    let said = |looks_in_the_folder, command| {
        let path_base = PathBase { looks_in_the_folder, ..path_base() };
        decide(&rules(GENEROUS), "bash", &Subject::Command(command), &path_base)
    };
    assert_eq!(said(false, "cd sub && ls"), Some(Decision::Approve));
    assert_eq!(said(true, "cd sub && ls"), None);
    assert_eq!(said(true, "cd . && ls"), Some(Decision::Approve));
}

#[test]
fn a_shell_is_known_by_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let link = |name: &str, target: &Path| -> PathBuf {
        symlink(target, folder.path().join(name)).unwrap();
        folder.path().join(name)
    };
    let found = Shell::find(None).unwrap();
    let posix = script(
        "bash",
        "#!/bin/sh\nwhile test \"$1\" != -c; do shift; done\nBASH_VERSION=\nunset BASH_VERSION\neval \"$2\"\n",
    );
    let unknown = script("zsh", "#!/bin/sh\necho 1 1 5.2\n");
    let mut shells = vec![(posix, Grammar::Posix), (unknown, Grammar::Unknown)];
    if found.grammar == Grammar::Bash {
        shells.push((link("dash", &found.program), Grammar::Bash));
    }
    for (shell, grammar) in shells {
        let shell = shell.to_str().unwrap().to_owned();
        assert_eq!(Shell::find(Some(&shell)).unwrap().grammar, grammar, "{shell}");
        let asked = |command| read_by(CommandShell::Asked(Some(shell.clone())), &rules(GENEROUS), command);
        assert_eq!(asked("git status").is_some(), grammar != Grammar::Unknown, "{shell}");
        assert_eq!(asked("ls |& cat").is_some(), grammar == Grammar::Bash, "{shell}");
    }
    for missing in ["no-such-shell-anywhere", "./bash", "/no/such/shell"] {
        assert!(Shell::find(Some(missing)).is_err(), "{missing}");
        assert_eq!(read_by(CommandShell::Asked(Some(missing.into())), &rules(GENEROUS), "ls"), None, "{missing}");
    }
}
