//! Rules: entries of `auto_approve` that speak of what a call does, and not only of the tool.
//!
//! `bash(cargo test *)` approves a command, `read(src/**)` a path, and `!bash(rm *)` or `!write(.git/**)` denies
//! them. [`Rule::parse`] reads an entry; [`decide`] holds a call's [`Subject`] against all rules; [`suggest`] says
//! which rules would approve the very same call.
//!
//! A command is read twice, by the shell's grammar and by a strict reading of our own, which have to agree; every
//! simple command in it must be approved by a rule, and one that is denied denies all. What cannot be read, what is
//! not known before it runs, and what changes the meaning of the rest is never approved; and where a rule that denies
//! might mean it, the user is asked even if the tool is approved as a whole. Paths are compared where they really
//! lead.
//!
//! | file           | what is in it                                                        |
//! |----------------|----------------------------------------------------------------------|
//! | `rule`         | one rule, and what all of them say of a call                         |
//! | `subject`      | what a rule can speak of                                             |
//! | `call_pattern` | what one rule is about                                               |
//! | `path_base`    | where paths start                                                    |
//! | `pattern`      | the words of a command rule, and how they match                      |
//! | `strict_lexer` | the strict reading of a command line                                 |
//! | `script`       | the grammar's reading: which simple commands a line runs             |
//! | `word`         | what a word will be, as far as it is known                           |
//! | `commands`     | what rules say of a script                                           |
//! | `wrappers`     | programs that run the command in their arguments                     |
//! | `options`      | what a wildcard never matches                                        |
//! | `guards`       | the options that it never matches, program by program                |
//! | `known`        | the subcommands and options that it does match, of some programs     |
//! | `git`          | the arguments of git that it does match                              |
//! | `filters`      | the scripts of `sed` and `awk` that it does match                    |
//! | `folders`      | what may run in another folder                                       |
//! | `input`        | what a program does with its standard input                         |
//! | `mention`      | denied programs that a line names for another one to run              |
//! | `variables`    | what may be set                                                      |
//! | `unapprovable` | what no rule approves                                                |
//! | `files`        | path rules                                                           |
//! | `reading`      | what denials for `read` say to other tools that read                 |
//! | `suggest`      | rules for the call at hand                                           |
//! | `target`       | what a call is about                                                 |

mod call_pattern;
mod commands;
mod files;
mod filters;
mod folders;
mod git;
mod guards;
mod indirect_runs;
mod input;
mod known_programs;
mod options;
mod path_base;
mod pattern;
mod read_rules;
mod rule;
mod script;
mod strict_lexer;
mod subject;
mod suggest;
mod target;
mod unapprovable;
mod variables;
mod word;
mod wrappers;

pub use path_base::PathBase;
pub(super) use read_rules::decide as decide_read;
pub use read_rules::{DeniedPaths, ReadTarget};
pub use rule::{Rule, decide};
pub use subject::Subject;
pub use suggest::suggest;
pub use target::Target;
