//! What a wildcard never matches: arguments by which a program runs something else, or writes where it usually reads.
//!
//! [`allows`] looks at the words that a wildcard had a part in, and at no others: written out in a rule, such an
//! argument is the user's own will and matches. Most of what it minds is in the table of [`guards`]; programs whose
//! arguments are a language of their own have a function.

use super::{
    filters, guards, never,
    pattern::Match,
    word::{DESCRIPTOR, Word},
    wrappers,
};

/// The subcommands of git that a wildcard matches. Any other may be an alias, which runs what it likes, or runs
/// programs that its arguments or the repository name.
#[rustfmt::skip]
const GIT_SUBCOMMANDS: [&str; 58] = [
    "add", "annotate", "apply", "blame", "branch", "cat-file", "check-attr", "check-ignore", "checkout", "cherry",
    "cherry-pick", "clean", "commit", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree",
    "fetch", "for-each-ref", "fsck", "gc", "grep", "init", "log", "ls-files", "ls-remote", "ls-tree", "merge",
    "merge-base", "mv", "name-rev", "notes", "pull", "push", "range-diff", "rebase", "reflog", "remote", "reset",
    "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show", "show-branch", "show-ref", "stash",
    "status", "switch", "symbolic-ref", "tag", "version", "whatchanged", "worktree",
];

/// Git's own options that may stand before a subcommand, under a wildcard.
const GIT_OPTIONS: [&str; 6] =
    ["--no-pager", "--version", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "-P"];

/// Git's own options whose value is the next word.
const GIT_VALUES: [&str; 8] =
    ["--attr-source", "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];

/// Where git's subcommand stands in a command.
pub(super) fn subcommand(words: &[Word]) -> Option<usize> {
    let mut place = 1;
    while let Some(text) = words.get(place)?.known() {
        match text {
            _ if GIT_VALUES.contains(&text) => place += 2,
            _ if text.starts_with('-') => place += 1,
            _ => return Some(place),
        }
    }
    None
}

/// Whether a wildcard may have had the part in a command that it had.
pub(super) fn allows(words: &[Word], found: &Match) -> bool {
    let Some(program) = words.first().and_then(Word::known).map(never::program) else { return false };
    let guards = guards::of(&program, words);
    let runner = wrappers::is_runner(&program);
    found.wild.iter().all(|(place, literal)| {
        let text = match &words[*place] {
            Word::Known(text) => text,
            // Its end may make it anything: a subcommand, `NAME=value`, an option. Only a descriptor's path is itself.
            Word::Filled(start) => {
                let guarded = !guards.is_empty() || is_special(&program);
                return !runner
                    && is_ascii_text(start)
                    && (!guarded || is_message(words, *place) || (start == DESCRIPTOR && !is_special(&program)));
            }
            Word::Unknown => return false,
        };
        !runner
            && is_ascii_text(text)
            && !guards.iter().any(|guard| guard.forbids(text, literal, &program, *place))
            && {
                match program.as_str() {
                    "git" => git(words, *place, text),
                    "make" | "gmake" | "bmake" => !text.contains('=') || text.starts_with('-'),
                    "sed" | "gsed" => filters::sed(words, *place, text),
                    "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => filters::awk(text),
                    "uniq" | "xxd" => words.iter().skip(1).filter(|word| !is_option(word)).count() < 2,
                    _ if never::code(words).is_some() => interpreter(words, *place, text),
                    _ => true,
                }
            }
    })
}

/// Whether the options before the script, which may load code, are left alone.
fn interpreter(words: &[Word], place: usize, text: &str) -> bool {
    let before = words[1..place].iter().all(is_option);
    !before || !text.starts_with(['-', '+']) || matches!(text, "--version" | "--help" | "-V" | "-h")
}

pub(super) fn is_option(word: &Word) -> bool {
    word.known().is_some_and(|text| text.starts_with('-') && text.len() > 1)
}

/// Whether the arguments of a program are code, or decide by their number.
fn is_special(program: &str) -> bool {
    ["sed", "gsed", "awk", "gawk", "mawk", "nawk", "original-awk", "uniq", "xxd"].contains(&program)
}

/// Whether a word is the message of `git commit -m`, which is text whatever is in it.
fn is_message(words: &[Word], place: usize) -> bool {
    let known: Vec<Option<&str>> = words[..place].iter().map(Word::known).collect();
    matches!(known.as_slice(), [Some("git"), Some("commit"), Some("-m" | "-am" | "--message")])
}

/// Whether a text has nothing in it that looks like something else.
pub(super) fn is_ascii_text(text: &str) -> bool {
    text.chars().all(|character| matches!(character, ' '..='~' | '\n' | '\t'))
}

/// Whether a word of `git …` is harmless: before the subcommand, as one, or after it.
fn git(words: &[Word], place: usize, text: &str) -> bool {
    match subcommand(words) {
        Some(subcommand) if place == subcommand => GIT_SUBCOMMANDS.contains(&text),
        Some(subcommand) if place > subcommand => !text.contains("::"),
        _ => GIT_OPTIONS.contains(&text),
    }
}
