//! An entry of `auto_approve` that is a rule, and the decision of all rules about a call.

use std::path::Path;

use super::{
    PathBase, Subject, commands,
    files::PathPattern,
    pattern::{CommandPattern, Likeness},
    unapprovable, variables,
    word::assigned,
};
use crate::Decision;
use flemma_model::UserError;
use flemma_text::one_line;

/// The tool whose rules match commands and never paths.
pub const SHELL_TOOL: &str = "bash";

/// How much of an entry is shown in a message, in characters.
const MOST_SHOWN: usize = 200;

/// A parsed rule. Two rules are equal if their entries are.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) entry: String,
    pub(super) tool: String,
    pub(super) denies: bool,
    /// The pattern; `None` for every call of the tool.
    pub(super) pattern: Option<Pattern>,
    reach: Reach,
    /// Whether it is only about a tool of ours, and not about another one of its name.
    is_for_ours: bool,
}

/// The scope of an approving rule without a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// For every call.
    Everywhere,
    /// For the ordinary files of the conversation's project ([`project`](crate::project)).
    Project,
}

/// The pattern of a rule. The call determines which of the two is used.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) command: Option<CommandPattern>,
    pub(super) path: Option<PathPattern>,
}

impl Pattern {
    pub(super) fn parse(tool: &str, text: &str, denies: bool) -> Result<Self, UserError> {
        let command = CommandPattern::parse(text).and_then(|pattern| check(pattern, denies));
        if tool == SHELL_TOOL {
            return Ok(Self { command: Some(command?), path: None });
        }
        Ok(Self { command: command.ok(), path: Some(PathPattern::parse(text)?) })
    }
}

/// Checks conditions that a pattern alone cannot check.
///
/// # Errors
/// If the pattern can never have an effect: what is wrong, and the fix.
fn check(pattern: CommandPattern, denies: bool) -> Result<CommandPattern, UserError> {
    if denies {
        return Ok(pattern);
    }
    for assignment in &pattern.assignments {
        if let Some(name) = assigned(assignment).filter(|name| variables::is_powerful(name)) {
            return Err(UserError::new(format!(
                "it sets {name}, which changes what runs, so no rule can approve it. Remove {name}"
            )));
        }
    }
    let Some(program) = pattern.program() else {
        return Err(UserError::new("its first word, the program, is missing or has a wildcard. Write out the program"));
    };
    let program = unapprovable::program(program);
    if unapprovable::is_never_approved(&program) {
        return Err(UserError::new(format!(
            "`{program}` runs commands that no rule can see, so no rule can approve it. Approve such calls by hand"
        )));
    }
    Ok(pattern)
}

impl Rule {
    /// Whether an entry is a rule, and not the name of a tool or a preset.
    pub fn is_rule(entry: &str) -> bool {
        let entry = entry.trim();
        entry.starts_with('!') || (entry.contains('(') && !entry.starts_with('$'))
    }

    /// Parses an entry: `tool(pattern)`, `!tool(pattern)`, `!tool`. `tool(*)`, `tool(**)` and the plain name of the tool
    /// match every call of the tool.
    ///
    /// # Errors
    /// A message for the user with the entry, what is wrong with it, and what to write instead.
    pub fn parse(entry: &str) -> Result<Self, UserError> {
        let wrong = |problem: &str| UserError::new(format!("the rule `{}`: {problem}", one_line(entry, MOST_SHOWN)));
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
            Some(text) => Some(Pattern::parse(tool, text, denies).map_err(|problem| wrong(&problem.to_string()))?),
        };
        Ok(Self { entry: entry.to_owned(), denies, pattern, ..Self::approving(tool) })
    }

    /// The rule that approves every call of a tool.
    pub fn approving(tool: &str) -> Self {
        Self {
            entry: tool.to_owned(),
            tool: tool.to_owned(),
            denies: false,
            pattern: None,
            reach: Reach::Everywhere,
            is_for_ours: false,
        }
    }

    /// The same rule, limited to ordinary files of the conversation's project.
    pub fn within_project(self) -> Self {
        Self { reach: Reach::Project, ..self }
    }

    /// The same rule, for a tool of ours only.
    pub fn for_ours(self) -> Self {
        Self { is_for_ours: true, ..self }
    }

    /// Whether it is only about a tool of ours.
    pub fn is_for_ours(&self) -> bool {
        self.is_for_ours
    }

    /// The same rule as a denial.
    pub fn denying(self) -> Self {
        let entry = if self.denies { self.entry } else { format!("!{}", self.entry) };
        Self { entry, denies: true, ..self }
    }

    /// The tool of the rule.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the rule denies calls instead of approving them.
    pub fn denies(&self) -> bool {
        self.denies
    }

    /// Whether the rule applies to every call of its tool.
    pub fn is_whole(&self) -> bool {
        self.pattern.is_none()
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry && self.reach == other.reach && self.is_for_ours == other.is_for_ours
    }
}

impl Eq for Rule {}

/// The decision of rules about a call. Denials come before questions, and questions before approvals. `None` if no rule
/// applies.
///
/// [`Decision::RequireApproval`] means that a denying rule may apply to the call, but this is not certain: ask, even if the
/// tool is approved as a whole. Links are followed, so this reads the file system, but it changes nothing.
pub fn decide(rules: &[Rule], tool: &str, subject: &Subject<'_>, path_base: &PathBase) -> Option<Decision> {
    if let Subject::Paths(paths) = subject
        && paths.len() != 1
    {
        let decisions = paths.chunks(1).map(|path| decide(rules, tool, &Subject::Paths(path), path_base));
        return strictest(decisions).unwrap_or_else(|| decide(rules, tool, &Subject::Other, path_base));
    }
    let rules: Vec<&Rule> = rules.iter().filter(|rule| rule.tool == tool).collect();
    if rules.iter().any(|rule| rule.denies && rule.is_whole()) {
        return Some(Decision::Deny);
    }
    let is_whole = |reach: Reach| rules.iter().any(|rule| rule.is_whole() && rule.reach == reach);
    let (whole, within_project) = (is_whole(Reach::Everywhere), is_whole(Reach::Project));
    let patterns = |denies: bool| -> Vec<&Pattern> {
        rules.iter().filter(|rule| rule.denies == denies).filter_map(|rule| rule.pattern.as_ref()).collect()
    };
    let (denying, approving) = (patterns(true), patterns(false));
    if !whole && !within_project && denying.is_empty() && approving.is_empty() {
        return None;
    }
    let (denied, approved) = match subject {
        Subject::Command(command) => commands::judge(&denying, &approving, command, path_base),
        Subject::Paths([path]) => paths(&denying, &approving, path, path_base),
        Subject::Paths(_) | Subject::Other => (Likeness::maybe(!denying.is_empty()), false),
    };
    let approved = match subject {
        _ if whole || approved => true,
        Subject::Paths([path]) if within_project && denied == Likeness::No => {
            path_base.disk.is_ordinary(path, &path_base.folder, path_base.home.as_deref())
        }
        _ => false,
    };
    denied.decision().or(approved.then_some(Decision::Approve))
}

/// The decision about several paths: a denial or a question of one of them, else an approval of all of them. `None` for no
/// paths.
pub(super) fn strictest(decisions: impl Iterator<Item = Option<Decision>>) -> Option<Option<Decision>> {
    let rank = |decision: &Option<Decision>| match decision {
        Some(Decision::Deny) => 3,
        Some(Decision::RequireApproval) => 2,
        None => 1,
        Some(Decision::Approve) => 0,
    };
    decisions.max_by_key(rank)
}

/// Whether rules deny a path, and whether they approve it.
fn paths(denying: &[&Pattern], approving: &[&Pattern], path: &Path, path_base: &PathBase) -> (Likeness, bool) {
    let like =
        |pattern: &&Pattern| pattern.path.as_ref().map_or(Likeness::Maybe, |pattern| pattern.is_like(path, path_base));
    let denied = denying.iter().map(like).max().unwrap_or(Likeness::No);
    let means = |pattern: &&Pattern| pattern.path.as_ref().is_some_and(|pattern| pattern.matches(path, path_base));
    (denied, approving.iter().any(means))
}
