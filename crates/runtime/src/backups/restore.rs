//! Takes changes back.

use std::{path::PathBuf, sync::Arc};

use super::{
    Backups, Limits, LogKey, Proposal, ProposedFile,
    contents::state_of,
    proposal::{is_unsaved, leads_elsewhere},
    recorder::new_name,
};
use crate::line_file::Fence;
use flemma_journal::changes::{Cause, FileState};
use flemma_model::UserError;
use flemma_tools::{Protected, Recorder, Upcoming, builtin::WriteTarget};

/// What taking changes back may do.
pub struct Permit {
    /// The files that somebody else has changed, and that are overwritten all the same.
    pub overwrite: Vec<PathBuf>,
    /// The files with changes in the editor.
    pub unsaved: Vec<PathBuf>,
    /// Says which files are never written.
    pub protected: Protected,
    /// What the store may become.
    pub limits: Limits,
    /// Says at the last moment whether the conversation still belongs to this process.
    pub fence: Option<Fence>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The file.
    pub path: PathBuf,
    /// Why it was not changed, in words after its name; `None` if it was.
    pub problem: Option<String>,
    /// Where it is now, if going back has given it another name.
    pub moved_to: Option<PathBuf>,
}

impl Backups {
    /// Does what was proposed, file by file. A file that is not as it was when the proposal was made is left alone. It blocks on
    /// the disk.
    pub fn apply(&self, log: &LogKey, proposal: &Proposal, permit: &Permit) -> Vec<Restored> {
        let step = new_name();
        let restore = |file: &ProposedFile| {
            let outcome = self.restore(log, file, permit, &step);
            Restored {
                path: file.step.path.clone(),
                problem: outcome.err().map(|error| error.to_string()),
                moved_to: None,
            }
        };
        let mut restored: Vec<_> = proposal.files.iter().map(restore).collect();
        for (from, to) in &proposal.moves {
            let is_done = |path: &PathBuf| restored.iter().any(|file| file.path == *path && file.problem.is_none());
            if is_done(from) && is_done(to) {
                restored.iter_mut().filter(|file| file.path == *from).for_each(|file| file.moved_to = Some(to.clone()));
            }
        }
        restored
    }

    fn restore(&self, log: &LogKey, file: &ProposedFile, permit: &Permit, step: &str) -> Result<(), UserError> {
        let ProposedFile { step: back, found, problem, is_changed_since, .. } = file;
        let path = &back.path;
        let kept = *is_changed_since && !permit.overwrite.contains(path);
        let kept = kept.then(|| "was changed by somebody else, and was kept".to_owned());
        if let Some(problem) = problem.clone().or(kept).or_else(|| is_unsaved(path, &permit.unsaved)) {
            return Err(UserError::new(problem));
        }
        let cause = Cause::User { act: back.act, step: step.to_owned(), reverts: back.reverts.clone() };
        let recorder: Arc<dyn Recorder> = Arc::new(self.recorder(log, cause, permit.limits, permit.fence.clone()));
        let name = path.display().to_string();
        let target = WriteTarget::at(path, &name, &permit.protected, Some(Arc::clone(&recorder)))
            .map_err(|error| UserError::new(format!("was left alone: {error}")))?;
        // From here on no call of this process changes the file.
        if let Some(problem) = leads_elsewhere(path) {
            return Err(UserError::new(problem));
        }
        if target.path() != path || !state_of(path).is_ok_and(|now| now == *found) {
            return Err(UserError::new("has changed in the meantime and was left alone: try again"));
        }
        let failed = |error: std::io::Error| UserError::new(format!("was left alone: {error}"));
        if *found == back.target {
            // There is nothing to write, but the changes are taken back from now on.
            let change = recorder.begin(Upcoming { path, new: found, folders: &[] }).map_err(failed)?;
            if let Some(change) = change {
                recorder.end(&change, true);
            }
            return Ok(());
        }
        match &back.target {
            FileState::Absent => target.remove(&back.folders),
            FileState::File { digest, mode } => {
                let content = self.contents().read(digest).map_err(failed)?;
                let content = content.ok_or_else(|| UserError::new("was left alone: what it was is no longer kept"))?;
                target.put(&content, Some(*mode))
            }
        }
        .map_err(failed)
    }
}
