//! The arguments of git that a wildcard matches.
//!
//! Another repository on this machine is equivalent to a program: pushing to a folder runs its hooks. So where a wildcard may
//! name a repository, it only matches the usual names of remotes, and only options without a separate value, which could
//! hide another one.

use super::word::Word;

/// The subcommands of git that a wildcard matches. Any other may be an alias, which can run anything, or may run programs
/// named by its arguments or by the repository; `mv` can move a file to where git looks for hooks, `apply` writes any file, `init` and
/// `worktree` make repositories and folders anywhere.
#[rustfmt::skip]
const SUBCOMMANDS: [&str; 54] = [
    "add", "annotate", "blame", "branch", "cat-file", "check-attr", "check-ignore", "checkout", "cherry",
    "cherry-pick", "clean", "commit", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree",
    "fetch", "for-each-ref", "fsck", "gc", "grep", "log", "ls-files", "ls-remote", "ls-tree", "merge",
    "merge-base", "name-rev", "notes", "pull", "push", "range-diff", "rebase", "reflog", "remote", "reset",
    "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show", "show-branch", "show-ref", "stash",
    "status", "switch", "symbolic-ref", "tag", "version", "whatchanged",
];

/// Git's own options that may stand before a subcommand, under a wildcard.
const OPTIONS: [&str; 6] =
    ["--no-pager", "--version", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "-P"];

/// Git's own options whose value is the next word.
const VALUES: [&str; 8] =
    ["--attr-source", "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];

/// The position of git's subcommand in a command.
pub(super) fn subcommand(words: &[Word]) -> Option<usize> {
    let mut place = 1;
    while let Some(text) = words.get(place)?.known() {
        match text {
            _ if VALUES.contains(&text) => place += 2,
            _ if text.starts_with('-') => place += 1,
            _ => return Some(place),
        }
    }
    None
}

/// Subcommands that take a repository as their first argument.
const REMOTE: [&str; 4] = ["fetch", "ls-remote", "pull", "push"];

/// The names of repositories that a wildcard matches.
const REMOTES: [&str; 2] = ["origin", "upstream"];

/// The names among the arguments of a command that git takes for folders if it has no remote of that name.
pub(super) fn remotes(words: &[Word]) -> impl Iterator<Item = &str> {
    let command = subcommand(words).and_then(|place| words[place].known());
    let is_remote = command.is_some_and(|command| REMOTE.contains(&command));
    words.iter().filter_map(Word::known).filter(move |word| is_remote && REMOTES.contains(word))
}

/// The options of those subcommands that a wildcard matches if they have no value after `=`.
#[rustfmt::skip]
const REMOTE_FLAGS: [&str; 49] = [
    "--all", "--append", "--atomic", "--autostash", "--delete", "--dry-run", "--exit-code", "--ff", "--ff-only", "--follow-tags", "--force",
    "--force-with-lease", "--get-url", "--heads", "--no-edit", "--no-ff", "--no-progress", "--no-rebase", "--no-recurse-submodules", "--no-tags",
    "--no-verify", "--porcelain", "--progress", "--prune", "--prune-tags", "--quiet", "--rebase", "--refs", "--set-upstream", "--squash", "--stat",
    "--symref", "--tags", "--unshallow", "--verbose", "-4", "-6", "-a", "-d", "-f", "-n", "-p", "-q", "-r", "-t", "-u", "-v", "-vv", "-P",
];

/// The subcommands of `git remote` that a wildcard matches.
const REMOTE_COMMANDS: [&str; 3] = ["get-url", "show", "update"];

/// Whether a word is harmless: before the subcommand, as one, or after it.
pub(super) fn is_harmless(words: &[Word], place: usize, text: &str) -> bool {
    let Some(command) = subcommand(words).filter(|command| *command <= place) else { return OPTIONS.contains(&text) };
    let name = words[command].known().unwrap_or_default();
    if place == command {
        return SUBCOMMANDS.contains(&text);
    }
    let is_option = text.starts_with('-');
    // The first word that is not an option, if it is this one.
    let is_first = || {
        let mut operands =
            (command + 1..words.len()).filter(|place| words[*place].known().is_none_or(|word| !word.starts_with('-')));
        operands.next() == Some(place)
    };
    let is_remote = REMOTES.contains(&text);
    let is_kept = if REMOTE.contains(&name) {
        if is_option { text.contains('=') || REMOTE_FLAGS.contains(&text) } else { is_remote || !is_first() }
    } else if name == "remote" {
        is_option || is_remote || REMOTE_COMMANDS.contains(&text)
    } else {
        true
    };
    // Files in `.git` belong to git, or run when git runs.
    is_kept && !text.contains("::") && !text.split(['/', '=', ':']).any(|part| part.eq_ignore_ascii_case(".git"))
}
