//! Rules: entries of `auto_approve` that depend on what a call does, and not only on the tool.
//!
//! `bash(cargo test *)` approves a command, `read(src/**)` a path, and `!bash(rm *)` or `!write(.git/**)` denies
//! them. [`Rule::parse`] parses an entry; [`decide`] compares a call's [`Subject`] with all rules; [`suggest`] returns the
//! rules that would approve exactly the same call.
//!
//! A command is read as bash reads it, and only as far as that is certain. A rule must approve every simple command in it, and
//! one denied command denies all. A command is never approved if it cannot be read, may be read differently by the shell that
//! runs it, is not known before it runs, or changes the meaning of the rest. If a denial might apply to it, the user is asked
//! even if the tool is approved as a whole. Paths are compared after resolving links.
//!
//! | file             | contents                                                               |
//! |------------------|------------------------------------------------------------------------|
//! | `rule`           | one rule, and the decision of all rules about a call                   |
//! | `path_base`      | the base of relative paths                                             |
//! | `pattern`        | the words of a command rule, and how they match                        |
//! | `lexer`          | the lexer for command lines                                            |
//! | `script`         | the simple commands of a line, according to the shell's grammar        |
//! | `word`           | words and their values, as far as these are known                      |
//! | `commands`       | the decision of the rules about a script                               |
//! | `common`         | command lines that every POSIX shell reads alike                       |
//! | `wrappers`       | programs that run the command in their arguments                       |
//! | `options`        | arguments that a wildcard never matches                                |
//! | `programs`       | what is known of programs: tables                                      |
//! | `guards`         | dangerous options of each program, for `options`                       |
//! | `known_programs` | programs of which a wildcard only matches known subcommands and options |
//! | `git`            | the arguments of git that a wildcard matches                           |
//! | `filters`        | the scripts of `sed` and `awk` that a wildcard matches                 |
//! | `folders`        | what may run in another folder                                         |
//! | `input`          | what a program does with its standard input                            |
//! | `indirect_runs`  | denied programs that another program in the line might run             |
//! | `variables`      | variables that a command line may set                                  |
//! | `unapprovable`   | commands that no rule can approve                                      |
//! | `files`          | path rules                                                             |
//! | `read_rules`     | the effect of denials for `read` on other tools that read              |
//! | `suggest`        | rules that approve a given call                                        |
//! | `target`         | the part of a call that a rule can match                               |

mod commands;
mod common;
mod files;
mod filters;
mod folders;
mod git;
mod guards;
mod indirect_runs;
mod input;
mod known_programs;
mod lexer;
mod options;
mod path_base;
mod pattern;
mod programs;
mod read_rules;
mod rule;
mod script;
mod suggest;
mod target;
mod unapprovable;
mod variables;
mod word;
mod wrappers;

pub use path_base::{CommandShell, PathBase};
pub(super) use read_rules::decide as decide_read;
pub(super) use read_rules::is_url;
pub use read_rules::{DeniedPaths, Names, ReadTarget};
pub use rule::{Rule, SHELL_TOOL, decide};
pub use suggest::suggest;
pub use target::{Subject, Target};
