//! What is asked of the store for a conversation.

use std::{io, path::PathBuf, sync::Arc};

use super::{
    Backups, Limits, LogKey, clean,
    contents::state_of,
    log,
    recorder::{CallRecorder, new_name},
};
use crate::line_file::{self, Fence, Flush, Lock};
use flemma_journal::CallKey;
use flemma_journal::changes::{Cause, History, Step, Wanted};
use flemma_model::UserError;
use flemma_tools::Recorder;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBefore {
    /// The file.
    pub path: PathBuf,
    /// What it was before; `None` if it was not there.
    pub before: Option<Vec<u8>>,
    /// Whether it is not known any more what it was.
    pub is_lost: bool,
}

impl Backups {
    /// Records what a run of a call changes.
    pub fn recorder_of_call(
        &self,
        log: &LogKey,
        call: &CallKey,
        limits: Limits,
        fence: Option<Fence>,
    ) -> Arc<dyn Recorder> {
        let input = call.input.as_str().to_owned();
        let cause = Cause::Call { id: call.id.clone(), tool: call.tool.clone(), input, run: new_name() };
        Arc::new(self.recorder(log, cause, limits, fence))
    }

    /// Records what is done for a cause.
    pub(super) fn recorder(&self, log: &LogKey, cause: Cause, limits: Limits, fence: Option<Fence>) -> CallRecorder {
        CallRecorder { backups: self.clone(), key: log.clone(), cause, limits, fence }
    }

    /// What a conversation has changed, and how many lines of its log are damaged. It blocks on the disk.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn history(&self, key: &LogKey) -> Result<(History, usize), UserError> {
        let log = self.log(key);
        let (lines, damaged) = log::read(&log, Some(Lock::Shared)).map_err(|error| {
            UserError::new(format!("the list of changes cannot be read: {}: {error}", log.display()))
        })?;
        let mut history = History::of(lines);
        for path in history.unsettled() {
            if let Ok(found) = state_of(&path) {
                history.settle(&path, &found);
            }
        }
        Ok((history, damaged))
    }

    /// What files were before these changes of them, in the order of the changes. It blocks on the disk.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn before(&self, log: &LogKey, wanted: &Wanted) -> Result<Vec<FileBefore>, UserError> {
        let steps = self.history(log)?.0.steps(wanted).unwrap_or_default();
        let file = |step: Step| {
            let known = step.target.digest().map(|digest| self.contents().read(digest).ok().flatten());
            FileBefore { path: step.path, is_lost: known == Some(None), before: known.flatten() }
        };
        Ok(steps.into_iter().rev().map(file).collect())
    }

    /// A conversation has another file: what its old log says is said in the new one too. It blocks on the disk.
    ///
    /// # Errors
    /// When one of them cannot be read or written.
    pub fn carry_over(&self, from: &LogKey, to: &LogKey) -> io::Result<()> {
        let (from, to) = (self.log(from), self.log(to));
        let read = |log| log::read(log, Some(Lock::Shared));
        let (read, known) = (read(&from)?.0, read(&to)?.0);
        let missing = read.iter().filter(|line| !known.contains(line));
        let text: String = missing.map(|line| line.to_text() + "\n").collect();
        if from == to || text.is_empty() {
            return Ok(());
        }
        line_file::append(&to, text.as_bytes(), Flush::Now, &[])
    }

    /// Deletes what is too old or too much. It blocks on the disk.
    ///
    /// # Errors
    /// When the store or a log cannot be read. Nothing is deleted then.
    pub fn clean(&self, limits: Limits) -> io::Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        self.clean_edited()?;
        clean::clean(self, limits)
    }
}
