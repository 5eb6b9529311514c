//! What taking changes back would do, for the user to look at.

use std::path::{Path, PathBuf};

use super::{Backups, LogKey, contents::content_of};
use flemma_journal::changes::{Act, FileState, Step, Wanted};
use flemma_model::{CallId, UserError};
use flemma_text::unified::Unified;
use flemma_tools::paths::real;

/// How many lines of the diff of one file are shown.
const MAX_LINES: usize = 2000;

/// What taking changes back would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The files, the one that was changed last first.
    pub files: Vec<ProposedFile>,
    /// The files that get another name: each with the path that it has and the path that it gets.
    pub moves: Vec<(PathBuf, PathBuf)>,
    /// How many lines of the log are damaged, so that they say nothing.
    pub damaged: usize,
}

/// What taking changes back would do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedFile {
    /// What is to be done.
    pub step: Step,
    /// What the file is now.
    pub(super) found: FileState,
    /// Why nothing can be done, in words after the name of the file.
    pub problem: Option<String>,
    /// Whether somebody else has changed the file, and that would be lost.
    pub is_changed_since: bool,
    /// What becomes of the file, as lines of a unified diff.
    pub diff: Vec<String>,
}

impl Backups {
    /// Finds out what taking changes back would do. `unsaved` are the files with changes in the editor. It blocks on the disk.
    ///
    /// # Errors
    /// When there is nothing to take back, or the log cannot be read.
    pub fn propose(&self, log: &LogKey, wanted: &Wanted, unsaved: &[PathBuf]) -> Result<Proposal, UserError> {
        let (history, damaged) = self.history(log)?;
        let note = if damaged == 0 { String::new() } else { format!(" ({})", damaged_lines(damaged)) };
        let steps = history.steps(wanted).map_err(|error| UserError::new(format!("{error}{note}")))?;
        let moves = history.moves(&steps);
        Ok(Proposal { moves, files: steps.into_iter().map(|step| self.look_at(step, unsaved)).collect(), damaged })
    }

    fn look_at(&self, step: Step, unsaved: &[PathBuf]) -> ProposedFile {
        let now = match content_of(&step.path) {
            Ok(now) => now.unwrap_or((FileState::Absent, Vec::new())),
            Err(error) => {
                let found = step.expected.clone();
                let problem = Some(format!("cannot be read: {error}"));
                return ProposedFile { step, found, problem, is_changed_since: true, diff: Vec::new() };
            }
        };
        let (found, now) = now;
        let target = match step.target.digest() {
            None => Ok(Some(Vec::new())),
            Some(digest) => self.contents().read(digest),
        };
        let is_changed_since = (found != step.expected || !step.is_unbroken) && found != step.target;
        let mut problem = leads_elsewhere(&step.path).or_else(|| is_unsaved(&step.path, unsaved));
        if let Some(call) = &step.blocked_by {
            problem = Some(format!("was written again by {call}; take that back first"));
        }
        let diff = match target {
            Ok(Some(target)) => describe(&step, &found, &now, &target),
            Ok(None) if found == step.target => Vec::new(),
            Ok(None) => {
                problem = Some("cannot be taken back: what it was is no longer kept (tools.backups)".to_owned());
                Vec::new()
            }
            Err(error) => {
                problem = Some(format!("cannot be taken back: {error}"));
                Vec::new()
            }
        };
        ProposedFile { step, found, problem, is_changed_since, diff }
    }
}

/// Says how many lines of a log are damaged.
pub fn damaged_lines(damaged: usize) -> String {
    match damaged {
        1 => "1 line of the list of changes is damaged and is ignored".to_owned(),
        damaged => format!("{damaged} lines of the list of changes are damaged and are ignored"),
    }
}

/// Why a file that is among those with changes in the editor is not written.
pub(super) fn is_unsaved(path: &Path, unsaved: &[PathBuf]) -> Option<String> {
    let words = "has changes in the editor that are not saved: write or discard them first";
    unsaved.iter().any(|file| real(file) == path).then(|| words.to_owned())
}

/// Why a path is not the one that was recorded any more: it was recorded with all links resolved.
pub(super) fn leads_elsewhere(path: &Path) -> Option<String> {
    let now = real(path);
    (now != path).then(|| format!("leads to {} now, which was not recorded: nothing is written there", now.display()))
}

fn describe(step: &Step, found: &FileState, now: &[u8], target: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    match (found, &step.target) {
        (FileState::Absent, FileState::File { .. }) => lines.push("(the file is made again)".to_owned()),
        (FileState::File { .. }, FileState::Absent) => lines.push("(the file is deleted)".to_owned()),
        (FileState::File { mode: now, .. }, FileState::File { mode: then, .. }) if now != then => {
            lines.push(format!("(permissions {now:o} become {then:o})"));
        }
        _ if found == &step.target => lines.push("(the file is so already)".to_owned()),
        _ => {}
    }
    lines.extend(Unified::of(now, target, MAX_LINES).lines);
    lines
}

impl Proposal {
    /// The proposal as the user looks at it: for each file what happens to it and why, and a diff. `name` gives the name of a file.
    pub fn lines(&self, name: impl Fn(&Path) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        if self.damaged > 0 {
            lines.extend([format!("# Note: {}.", damaged_lines(self.damaged)), String::new()]);
        }
        for file in &self.files {
            let Step { path, act, calls, also, .. } = &file.step;
            let (name, calls) = (name(path), list(calls));
            if let Some(problem) = &file.problem {
                lines.push(format!("# Not possible: {name} {problem}."));
            } else if file.is_changed_since {
                lines.push(format!("# {name} was changed by somebody else after {calls}. You are asked about it."));
            }
            if !also.is_empty() {
                lines.push(format!("# {} changed it later, and that is taken back with it.", list(also)));
            }
            lines.push(format!("--- {name}"));
            lines.push(match act {
                Act::Undo => format!("+++ {name} (before {calls})"),
                Act::Redo => format!("+++ {name} (after {calls})"),
            });
            lines.extend(file.diff.iter().cloned());
            lines.push(String::new());
        }
        lines.pop();
        lines
    }
}

fn list(calls: &[CallId]) -> String {
    calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
