//! Options that run or write something, in every spelling that a program may take: none is matched by a wildcard.

use flemma_tools::approval::Decision;
use proptest::prelude::*;

use super::{
    command,
    properties::{nested, quoted},
    rules,
};

/// Commands and options of theirs.
#[rustfmt::skip]
const OPTIONS: &[(&str, &[&str])] = &[
    ("npm run", &["script-shell", "prefix", "node-options", "shell", "userconfig", "globalconfig", "git", "call"]),
    ("npm test", &["script-shell", "prefix", "node-options"]),
    ("pnpm run", &["script-shell", "dir", "shell-emulator"]),
    ("yarn run", &["cwd", "script-shell"]),
    ("cargo test", &["config", "manifest-path", "target-dir", "logfile", "out-dir"]),
    ("git log", &["output", "ext-diff", "textconv"]),
    ("git fetch", &["upload-pack"]),
    ("git push", &["receive-pack", "exec"]),
    ("sort", &["output", "compress-program"]),
    ("rg", &["pre", "hostname-bin", "search-zip"]),
    ("find .", &["exec", "execdir", "delete", "fprint"]),
    ("fd a", &["exec", "exec-batch"]),
    ("go test", &["exec", "toolexec", "vettool", "overlay", "modfile"]),
    ("curl", &["output", "config", "dump-header", "cookie-jar", "libcurl"]),
    ("wget", &["output-document", "execute", "config", "use-askpass"]),
    ("gcc", &["wrapper", "specs", "save-temps", "ld-path"]),
    ("pylint", &["init-hook", "load-plugins", "rcfile"]),
    ("mypy", &["python-executable", "config-file"]),
    ("pytest", &["rootdir", "override-ini", "pdbcls", "basetemp"]),
    ("python3 -m pytest", &["rootdir", "override-ini"]),
    ("uv run pytest", &["rootdir", "override-ini"]),
    ("pdflatex", &["shell-escape", "output-directory", "cnf-line", "enable-write18"]),
    ("latexmk", &["pdflatex", "latexoption", "outdir"]),
    ("pandoc a", &["filter", "lua-filter", "pdf-engine", "output"]),
    ("helm template", &["post-renderer", "kubeconfig", "output-dir"]),
    ("kubectl get", &["kubeconfig", "cache-dir", "server"]),
    ("terraform plan", &["chdir", "plugin-dir", "generate-config-out"]),
    ("tar", &["to-command", "use-compress-program", "checkpoint-action", "rsh-command"]),
    ("rsync", &["rsh", "rsync-path", "daemon"]),
    ("jest", &["globalSetup", "config", "testRunner", "transform"]),
    ("eslint", &["rulesdir", "parser", "resolve-plugins-relative-to", "config"]),
    ("mocha", &["require", "reporter", "node-option"]),
    ("rspec", &["require", "options"]),
    ("gpg", &["homedir", "agent-program", "options"]),
    ("openssl x509", &["engine", "out", "provider-path"]),
    ("javac", &["processor", "processorpath"]),
    ("gradle", &["init-script", "project-dir"]),
    ("mvn", &["settings", "file"]),
    ("bazel test", &["run_under", "script_path"]),
    ("man", &["pager", "html", "preprocessor"]),
    ("make", &["eval", "directory", "file"]),
    ("ninja", &["C"]),
    ("yq", &["inplace"]),
];

/// A rule's entries, and a command that has the option in some spelling.
fn spelt() -> impl Strategy<Value = (Vec<String>, String)> {
    let rows: Vec<(&str, &str)> =
        OPTIONS.iter().flat_map(|(command, names)| names.iter().map(move |name| (*command, *name))).collect();
    let value = prop::sample::select(vec!["=x", " x", "=x y", "", "=", ":x", "=../x"]);
    let before = prop::sample::select(vec!["", "a ", "-- ", "a b ", "-v ", "--verbose "]);
    (
        prop::sample::select(rows),
        1..5usize,
        0..3usize,
        any::<(bool, bool)>(),
        value,
        before,
        prop::collection::vec(any::<u8>(), 1..8),
    )
        .prop_map(|((command, name), dashes, cut, (lower, upper), value, before, ways)| {
            // A beginning of it that only this option has.
            let mut option = name[..name.len() - if name.len() > 6 { cut } else { 0 }].to_owned();
            if lower {
                option = option.replace('-', "_");
            }
            if upper && dashes > 1 {
                option = option.to_ascii_uppercase();
            }
            let option = quoted(&format!("{}{option}", "-".repeat(dashes)), &ways);
            let program = command.split(' ').next().unwrap_or_default();
            let entries = vec![
                format!("bash({command} *)"),
                format!("bash({program} *)"),
                "bash(ls *)".into(),
                "bash(cat *)".into(),
            ];
            (entries, format!("{command} {before}{option}{value}"))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    #[test]
    fn no_spelling_of_a_dangerous_option_is_matched_by_a_wildcard((entries, text) in spelt(), ways in prop::collection::vec(any::<u8>(), 0..2)) {
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        let rules = rules(&entries);
        prop_assert_ne!(command(&rules, &text), Some(Decision::Approve), "{}", text);
        let text = nested(&text, &ways);
        prop_assert_ne!(command(&rules, &text), Some(Decision::Approve), "{}", text);
    }
}

#[test]
fn the_same_commands_without_the_option_are_matched() {
    for (text, _) in OPTIONS {
        let program = text.split(' ').next().unwrap_or_default();
        for entry in [format!("bash({text} *)"), format!("bash({program} *)")] {
            // What launches others is matched only with the launch written out.
            let launches = text.starts_with("python3") || text.starts_with("uv");
            if launches && !entry.contains("pytest") {
                continue;
            }
            assert_eq!(command(&rules(&[&entry]), text), Some(Decision::Approve), "{entry} {text}");
        }
    }
}

#[test]
fn an_option_that_the_rule_writes_out_is_matched() {
    let rows = [
        ("bash(npm --prefix sub test *)", "npm --prefix sub test"),
        ("bash(npm run build --script-shell=* *)", "npm run build --script-shell=zsh"),
        ("bash(git -C sub status *)", "git -C sub status --short"),
        ("bash(make -C sub *)", "make -C sub all"),
        ("bash(kubectl --context prod get *)", "kubectl --context prod get pods"),
        ("bash(docker exec web ls *)", "docker exec web ls -l"),
        ("bash(cargo install ripgrep)", "cargo install ripgrep"),
        ("bash(gcc -Wl,-plugin=x *)", "gcc -Wl,-plugin=x a.c"),
        ("bash(pdflatex -shell-escape *)", "pdflatex -shell-escape a.tex"),
        ("bash(uv run pytest *)", "uv run pytest -q tests"),
        ("bash(python3 -m pytest *)", "python3 -m pytest -k a"),
    ];
    for (entry, text) in rows {
        assert_eq!(command(&rules(&[entry]), text), Some(Decision::Approve), "{entry} {text}");
    }
}
