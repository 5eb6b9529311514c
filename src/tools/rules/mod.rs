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
mod pattern;
mod read_rules;
mod script;
mod strict_lexer;
mod suggest;
mod target;
mod unapprovable;
mod variables;
mod word;
mod wrappers;

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use self::{files::PathPattern, pattern::CommandPattern, pattern::Likeness};
use super::{approval::Decision, project};

pub(super) use read_rules::decide as decide_read;
pub use read_rules::{DeniedPaths, ReadTarget};
pub use suggest::suggest;
pub use target::Target;

/// The tool whose rules are about commands and never about paths.
const SHELL_TOOL: &str = "bash";

/// An entry that was understood. Two rules are equal when their entries are.
#[derive(Clone, Debug)]
pub struct Rule {
    entry: String,
    tool: String,
    denies: bool,
    /// What it is about; `None` for every call of the tool.
    pattern: Option<Pattern>,
    reach: Reach,
}

/// Where a rule without a pattern holds that approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// For every call.
    Everywhere,
    /// For the ordinary files of the conversation's project ([`project`]).
    Project,
}

/// What a rule is about. Which of the two counts depends on the call.
#[derive(Clone, Debug)]
struct Pattern {
    command: Option<CommandPattern>,
    path: Option<PathPattern>,
}

/// What a rule can speak of in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command line for bash.
    Command(&'a str),
    /// The file or folder that the tool is given; absolute, as the tool would open it.
    Path(&'a Path),
    /// Neither: only rules about the whole tool speak.
    Other,
}

/// Where relative paths and `~` lead, and which variables the environment of a command has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathBase {
    /// The folder that relative paths start from; absolute.
    pub folder: PathBuf,
    /// The folder behind `~`, if it is known; absolute.
    pub home: Option<PathBuf>,
    /// The names of the variables in the environment that commands get.
    pub exported: BTreeSet<String>,
}

impl Rule {
    /// Whether an entry is a rule, and not the name of a tool or a preset.
    pub fn is_rule(entry: &str) -> bool {
        let entry = entry.trim();
        entry.starts_with('!') || (entry.contains('(') && !entry.starts_with('$'))
    }

    /// Reads an entry: `tool(pattern)`, `!tool(pattern)`, `!tool`. `tool(*)` and `tool(**)` are every call of the
    /// tool; so is its plain name.
    ///
    /// # Errors
    /// A message for the user that names the entry, says what is wrong with it, and what to write instead.
    pub fn parse(entry: &str) -> Result<Self, String> {
        let wrong = |problem: &str| format!("the rule `{entry}`: {problem}");
        let text = entry.trim();
        let (denies, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(pattern) => (tool, Some(pattern.trim())),
                None => return Err(wrong("it does not end in `)`. Write `tool(pattern)`")),
            },
        };
        if tool.starts_with('$') {
            return Err(wrong("a preset cannot have a pattern or be denied. Name a tool, or remove the preset"));
        }
        if tool.is_empty() || !tool.chars().all(|character| character.is_alphanumeric() || "_-.:/".contains(character))
        {
            return Err(wrong("it does not begin with the name of a tool. Write `tool(pattern)` or `!tool(pattern)`"));
        }
        let pattern = match pattern {
            None | Some("*" | "**") => None,
            Some("") => {
                return Err(wrong(&format!(
                    "there is nothing between the parentheses. `{tool}(*)` matches every call"
                )));
            }
            Some(text) => Some(Pattern::parse(tool, text, denies).map_err(|problem| wrong(&problem))?),
        };
        Ok(Self { entry: entry.to_owned(), tool: tool.to_owned(), denies, pattern, reach: Reach::Everywhere })
    }

    /// The rule that approves every call of a tool.
    pub fn approving(tool: &str) -> Self {
        Self { entry: tool.to_owned(), tool: tool.to_owned(), denies: false, pattern: None, reach: Reach::Everywhere }
    }

    /// The same rule, which approves only what happens to the ordinary files of the conversation's project.
    #[must_use]
    pub(super) fn within_project(self) -> Self {
        Self { reach: Reach::Project, ..self }
    }

    /// The same rule, denying what it means.
    #[must_use]
    pub fn denying(self) -> Self {
        let entry = if self.denies { self.entry } else { format!("!{}", self.entry) };
        Self { entry, denies: true, ..self }
    }

    /// The tool that the rule is about.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the rule denies what it means, and does not approve it.
    pub fn denies(&self) -> bool {
        self.denies
    }

    /// Whether the rule is about every call of its tool.
    pub fn is_whole(&self) -> bool {
        self.pattern.is_none()
    }
}

impl Pattern {
    fn parse(tool: &str, text: &str, denies: bool) -> Result<Self, String> {
        let command = CommandPattern::parse(text).and_then(|pattern| commands::check(pattern, denies));
        if tool == SHELL_TOOL {
            return Ok(Self { command: Some(command?), path: None });
        }
        Ok(Self { command: command.ok(), path: Some(PathPattern::parse(text)?) })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.entry)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry && self.reach == other.reach
    }
}

impl Eq for Rule {}

/// What rules say of a call: a denial before a question, a question before an approval. `None` if no rule speaks.
///
/// [`Decision::RequireApproval`] means that a rule that denies may mean the call and nobody can tell: ask, even where
/// the tool is approved as a whole. Links are followed, so this looks at the file system; it changes nothing.
pub fn decide(rules: &[Rule], tool: &str, subject: &Subject<'_>, path_base: &PathBase) -> Option<Decision> {
    let (denying, approving): (Vec<&Rule>, Vec<&Rule>) =
        rules.iter().filter(|rule| rule.tool == tool).partition(|rule| rule.denies);
    if denying.iter().any(|rule| rule.is_whole()) {
        return Some(Decision::Deny);
    }
    let is_whole = |reach: Reach| approving.iter().any(|rule| rule.is_whole() && rule.reach == reach);
    let (whole, within_project) = (is_whole(Reach::Everywhere), is_whole(Reach::Project));
    let patterns = |rules: &[&Rule]| -> Vec<Pattern> { rules.iter().filter_map(|rule| rule.pattern.clone()).collect() };
    let (denying, approving) = (patterns(&denying), patterns(&approving));
    if !whole && !within_project && denying.is_empty() && approving.is_empty() {
        return None;
    }
    let (denied, approved) = match subject {
        Subject::Command(command) => commands::judge(&denying, &approving, command, path_base),
        Subject::Path(path) => paths(&denying, &approving, path, path_base),
        Subject::Other => (if denying.is_empty() { Likeness::No } else { Likeness::Maybe }, false),
    };
    match denied {
        Likeness::Yes => Some(Decision::Deny),
        Likeness::Maybe => Some(Decision::RequireApproval),
        Likeness::No if whole || approved => Some(Decision::Approve),
        Likeness::No => match subject {
            Subject::Path(path) if within_project => project::is_ordinary(path, path_base).then_some(Decision::Approve),
            _ => None,
        },
    }
}

/// Whether rules deny a path, and whether they approve it.
fn paths(denying: &[Pattern], approving: &[Pattern], path: &Path, path_base: &PathBase) -> (Likeness, bool) {
    let mut denied = Likeness::No;
    for pattern in denying {
        let likeness = pattern.path.as_ref().map_or(Likeness::Maybe, |pattern| pattern.is_like(path, path_base));
        denied = denied.max(likeness);
    }
    let means = |pattern: &Pattern| pattern.path.as_ref().is_some_and(|pattern| pattern.matches(path, path_base));
    (denied, approving.iter().any(means))
}
