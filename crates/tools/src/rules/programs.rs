//! What is known of programs, from their manuals: tables, which are data in the folder `programs`.
//!
//! | file           | contents                                                                                        |
//! |----------------|-------------------------------------------------------------------------------------------------|
//! | `guards`       | the dangerous arguments of a program ([`guards`](super::guards))                                |
//! | `known`        | programs with the only arguments that are known to be harmless ([`known_programs`](super::known_programs)) |
//! | `wrappers`     | programs that run the command in their arguments ([`wrappers`](super::wrappers))                |
//! | `interpreters` | programs that are given a program ([`unapprovable`](super::unapprovable))                       |
//! | `names`        | names of programs, subcommands and variables by what they do ([`Names`])                        |

use std::{collections::HashSet, sync::LazyLock};

use serde::{Deserialize, de::DeserializeOwned};

/// Names, by what they do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    /// Programs whose arguments are or contain commands that cannot be analysed here. A rule only approves one if it is written
    /// out.
    pub(super) runners: HashSet<String>,
    /// Programs that take words for the command from elsewhere, run it repeatedly, or keep it for later.
    pub(super) deferring: HashSet<String>,
    /// Programs that do the same in every folder: they read their arguments or input, and print.
    pub(super) readers: HashSet<String>,
    /// Programs that never run their arguments.
    pub(super) inert: HashSet<String>,
    /// Programs that treat input as data, in addition to those that read and print. A rule decides about their other effects.
    pub(super) filters: HashSet<String>,
    /// Programs that run the program that one of their arguments names.
    pub(super) launchers: HashSet<String>,
    /// Programs whose second argument is the file that they write.
    pub(super) writers: HashSet<String>,
    /// Built-in commands of the shell that run text, or change the meaning of later commands and files. Several of them
    /// evaluate a subscript in a variable name, and so run its contents.
    pub(super) unapprovable: HashSet<String>,
    /// Programs that are also installed with a `g` before their name, as Homebrew does.
    pub(super) gnu: HashSet<String>,
    /// Subcommands of git that open no editor and take no commands from their input.
    pub(super) git_reading: HashSet<String>,
    /// The subcommands of git that a wildcard matches. Any other may be an alias, which can run anything, or may run programs
    /// named by its arguments or by the repository; `mv` can move a file to where git looks for hooks, `apply` writes any file,
    /// `init` and `worktree` make repositories and folders anywhere.
    pub(super) git_subcommands: HashSet<String>,
    /// Git's own options that may stand before a subcommand, under a wildcard.
    pub(super) git_options: HashSet<String>,
    /// Git's own options whose value is the next word.
    pub(super) git_values: HashSet<String>,
    /// The options of git's subcommands with a repository that a wildcard matches if they have no value after `=`.
    pub(super) git_remote_flags: HashSet<String>,
    /// Variables with which programs and the shell run or find something.
    pub(super) variables: HashSet<String>,
    /// The same, by the beginning of their names.
    pub(super) variable_prefixes: Vec<String>,
    /// The same, by the end of their names.
    pub(super) variable_suffixes: Vec<String>,
    /// Variables whose value a shell or an interpreter runs: a file or code when it starts, or a subscript when it is used.
    pub(super) code_variables: HashSet<String>,
    /// Words that begin something else than a command in a shell, or are built in in some and programs in others.
    pub(super) shell_names: HashSet<String>,
}

/// All of them.
pub(super) static NAMES: LazyLock<Names> = LazyLock::new(|| table(include_str!("programs/names.json")));

/// Reads a table. Without it nothing could be decided, so a mistake in it, which the tests would find, ends the decision.
pub(super) fn table<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("a table of programs is not valid: {error}"))
}
