//! The manual page and the completions, which come with the program.

use std::process::Command;

use super::harness::Shell;

/// The names of all commands, as the help lists them.
fn commands(shell: &Shell) -> Vec<String> {
    let help = shell.flemma(&["--help"]).out;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The page, without what only `man` reads.
fn plain(page: &str) -> String {
    page.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace("\\(ga", "`")
}

#[test]
fn the_manual_page_has_all_of_the_help() {
    let shell = Shell::new();
    let page = plain(&shell.flemma(&["man"]).out);
    let all = commands(&shell);
    assert!(all.len() >= 7, "{all:?}");
    for command in &all {
        assert!(page.contains(&format!(".SS flemma {command}\n")), "{command}");
        let help = shell.flemma(&[command.as_str(), "--help"]).out;
        for word in help.split_whitespace().filter(|word| word.starts_with("--")) {
            let option = word.trim_end_matches([',', '.', ';', ']']);
            assert!(page.contains(option), "{command} {option}");
        }
        // The texts are those of the help, which breaks lines elsewhere.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let about = help.split("\n\nUsage:").next().unwrap();
        for sentence in about.split("\n\n").map(words) {
            assert!(words(&page).contains(sentence.trim_end_matches('.')), "{command}: {sentence}");
        }
    }
    for heading in ["EXIT CODES", "ENVIRONMENT", "FILES", "COMMANDS"] {
        assert!(page.contains(&format!(".SH {heading}\n")), "{heading}");
    }
    assert!(page.contains("XDG_STATE_HOME") && page.contains(".TP\n4\nheld by another process"), "{page}");
    // The end of the help is the same text.
    assert!(shell.flemma(&["--help"]).out.contains("Environment:"));
}

#[test]
fn the_manual_page_is_one_that_man_can_read() {
    if Command::new("groff").arg("--version").output().is_err() {
        return;
    }
    let shell = Shell::new();
    shell.put("flemma.1", shell.flemma(&["man"]).out);
    let path = shell.path("flemma.1");
    let output = Command::new("groff").args(["-man", "-ww", "-Tutf8", "-z"]).arg(&path).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn completions_load_in_the_shells_that_are_there() {
    let shell = Shell::with_notes();
    for name in ["bash", "zsh", "fish"] {
        shell.put(name, shell.flemma(&["completions", name]).out);
        let Ok(output) = Command::new(name).arg("-n").arg(shell.path(name)).output() else { continue };
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
    }
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source ./bash && COMP_WORDS=({words}) && COMP_CWORD={at} && COMP_LINE='{words}' && COMP_POINT={} && \
             _flemma flemma \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{}]}}\" && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.len(),
            at - 1
        );
        let bash = Command::new("bash").args(["--norc", "-c", &script]).current_dir(shell.path("")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&bash.stderr), "", "{words}");
        String::from_utf8(bash.stdout).unwrap()
    };
    assert_eq!(complete("flemma re", 1).trim(), "resolve");
    assert!(complete("flemma resolve notes.chat call --re", 4).contains("--reject"));
    // Bash itself completes names of files where the script has nothing to offer.
    assert_eq!(complete("flemma resolve no", 2).trim(), "");
    let script = "source ./bash && complete -p flemma";
    let bash = Command::new("bash").args(["--norc", "-c", script]).current_dir(shell.path("")).output().unwrap();
    assert!(String::from_utf8(bash.stdout).unwrap().contains("-o default"));
}
