//! The pattern of one rule: for a command, a path, or either of the two.

use super::{files::PathPattern, pattern::CommandPattern, unapprovable, variables, wrappers};
use flemma_model::UserError;

/// The tool whose rules match commands and never paths.
pub const SHELL_TOOL: &str = "bash";

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
        let name = assignment.split('=').next().unwrap_or_default();
        if variables::is_powerful(name) {
            return Err(UserError::new(format!(
                "it sets {name}, which changes what runs, so no rule can approve it. Remove {name}"
            )));
        }
    }
    let Some(program) = pattern.program() else {
        return Err(UserError::new("its first word, the program, is missing or has a wildcard. Write out the program"));
    };
    let program = unapprovable::program(program);
    if unapprovable::is_never_approved(&program) || wrappers::is_never_approved(&program) {
        return Err(UserError::new(format!(
            "`{program}` runs commands that no rule can see, so no rule can approve it. Approve such calls by hand"
        )));
    }
    Ok(pattern)
}
