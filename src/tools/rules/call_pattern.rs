//! What one rule is about: a command, a path, or whichever of the two a call has.

use super::{files::PathPattern, pattern::CommandPattern, unapprovable, variables, wrappers};

/// The tool whose rules are about commands and never about paths.
pub(super) const SHELL_TOOL: &str = "bash";

/// What a rule is about. Which of the two counts depends on the call.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) command: Option<CommandPattern>,
    pub(super) path: Option<PathPattern>,
}

impl Pattern {
    pub(super) fn parse(tool: &str, text: &str, denies: bool) -> Result<Self, String> {
        let command = CommandPattern::parse(text).and_then(|pattern| check(pattern, denies));
        if tool == SHELL_TOOL {
            return Ok(Self { command: Some(command?), path: None });
        }
        Ok(Self { command: command.ok(), path: Some(PathPattern::parse(text)?) })
    }
}

/// Checks what a pattern by itself cannot know.
///
/// # Errors
/// When the pattern can never do what it is written for: what is wrong and what would be right.
fn check(pattern: CommandPattern, denies: bool) -> Result<CommandPattern, String> {
    if denies {
        return Ok(pattern);
    }
    for assignment in &pattern.assignments {
        let name = assignment.split('=').next().unwrap_or_default();
        if variables::is_powerful(name) {
            return Err(format!("it sets {name}, which changes what runs, so no rule can approve it. Remove {name}"));
        }
    }
    let Some(program) = pattern.program() else {
        return Err("its first word, the program, is missing or has a wildcard. Write out the program".into());
    };
    let program = unapprovable::program(program);
    if unapprovable::is_never_approved(&program) || wrappers::is_never_approved(&program) {
        return Err(format!(
            "`{program}` runs commands that no rule can see, so no rule can approve it. Approve such calls by hand"
        ));
    }
    Ok(pattern)
}
