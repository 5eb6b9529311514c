//! What a command does with its standard input.
//!
//! A here-document, a here-string, a pipe and `< file` give a command text that no rule covers. Many programs take commands
//! from there: an editor that git starts, a database's shell, a client. So a command with input is only approved if its
//! program is known to treat the input as plain data.

use super::{folders, git, script::CommandRun, word::Word};

/// Programs that treat input as data, in addition to those that read and print. A rule decides about their other effects.
#[rustfmt::skip]
const MORE: [&str; 46] = [
    "b2sum", "base32", "base64", "bat", "batcat", "bunzip2", "bzcat", "bzip2", "chmod", "colordiff", "cp", "gojq", "grep", "gron",
    "gunzip", "gzip", "jaq", "less", "ln", "lz4", "mkdir", "more", "mv", "nproc", "pr", "rm", "rmdir", "sha224sum", "sha384sum",
    "sha512sum", "shuf", "split", "strings", "sum", "tee", "touch", "tsort", "unexpand", "uniq", "unxz", "whoami", "xmllint", "xxd",
    "xz", "zcat", "zstd",
];

/// Subcommands of git that open no editor and take no commands from their input.
#[rustfmt::skip]
const GIT: [&str; 28] = [
    "annotate", "blame", "cat-file", "check-attr", "check-ignore", "cherry", "count-objects", "describe", "diff", "diff-files",
    "diff-index", "diff-tree", "for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "rev-list",
    "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status", "version", "whatchanged",
];

/// Whether a command, which is not a wrapper, treats its input only as data.
pub(super) fn is_data_for(run: &CommandRun) -> bool {
    folders::reads_and_prints(run)
        || folders::quiet_program(run).is_some_and(|program| match program.as_str() {
            "git" => is_data_for_git(&run.words),
            program => MORE.contains(&program),
        })
}

fn is_data_for_git(words: &[Word]) -> bool {
    let command = git::subcommand(words).and_then(|place| words[place].known());
    let is_harmless =
        |(place, word): (usize, &Word)| word.known().is_some_and(|text| git::is_harmless(words, place, text));
    command.is_some_and(|command| GIT.contains(&command)) && words.iter().enumerate().skip(1).all(is_harmless)
}
