//! The arguments of git that a wildcard matches.
//!
//! Another repository on this machine is equivalent to a program: pushing to a folder runs its hooks. So where a wildcard may
//! name a repository, it only matches the usual names of remotes, and only options without a separate value, which could
//! hide another one.

use std::collections::HashSet;

use super::{programs::NAMES, word::Word};

/// The position of git's subcommand in a command.
pub(super) fn subcommand(words: &[Word]) -> Option<usize> {
    command_behind(&NAMES.git_values, words)
}

/// The position of a program's subcommand, behind its own options, of which `values` have the next word as their value.
pub(super) fn command_behind(values: &HashSet<String>, words: &[Word]) -> Option<usize> {
    let mut place = 1;
    while let Some(text) = words.get(place)?.known() {
        match text {
            _ if values.contains(text) => place += 2,
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

/// The subcommands of `git remote` that a wildcard matches.
const REMOTE_COMMANDS: [&str; 3] = ["get-url", "show", "update"];

/// Whether a word is harmless: before the subcommand, as one, or after it.
pub(super) fn is_harmless(words: &[Word], place: usize, text: &str) -> bool {
    let Some(command) = subcommand(words).filter(|command| *command <= place) else {
        return NAMES.git_options.contains(text);
    };
    let name = words[command].known().unwrap_or_default();
    if place == command {
        return NAMES.git_subcommands.contains(text);
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
        if is_option { text.contains('=') || NAMES.git_remote_flags.contains(text) } else { is_remote || !is_first() }
    } else if name == "remote" {
        is_option || is_remote || REMOTE_COMMANDS.contains(&text)
    } else {
        true
    };
    // Files in `.git` belong to git, or run when git runs.
    is_kept && !text.contains("::") && !text.split(['/', '=', ':']).any(|part| part.eq_ignore_ascii_case(".git"))
}
