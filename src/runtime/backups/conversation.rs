//! What is asked of the store for a conversation.

use std::{io, path::PathBuf, sync::Arc};

use super::{
    Backups, Limits, LogKey, clean,
    contents::{content_of, state_of},
    log,
    recorder::{CallRecorder, new_name},
};
use crate::{
    changes::{Cause, FileState, History},
    journal::CallKey,
    model::{CallId, UserError},
    runtime::line_file::{self, Fence, Flush},
    text::unified::Unified,
    tools::Recorder,
};

/// What a conversation has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// The files, in the order of their first changes.
    pub files: Vec<OverviewFile>,
    /// How many lines of the log are damaged.
    pub damaged: usize,
}

/// How the content of a file differs from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Not at all.
    None,
    /// It has so many lines more, and so many fewer.
    Lines(usize, usize),
    /// It does. In which lines is not known: it is binary or very large, or one of them is not kept.
    Other,
    /// It cannot be read.
    Unknown,
}

/// What a conversation has done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverviewFile {
    /// The file.
    pub path: PathBuf,
    /// The calls, each with whether its change stands.
    pub calls: Vec<(CallId, bool)>,
    /// How its content differs from that before the first change.
    pub difference: Difference,
    /// Whether it is not as the last change has left it.
    pub is_changed_since: bool,
    /// Whether it is there now.
    pub exists: bool,
    /// Whether it was there before the first change.
    pub existed: bool,
}

impl Backups {
    /// Records what a run of a call changes.
    #[must_use]
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
        let read = log::read(&log).map_err(|error| {
            UserError::new(format!("the list of changes cannot be read: {}: {error}", log.display()))
        })?;
        let damaged = read.damaged;
        let mut history = read.history();
        for path in history.unsettled() {
            if let Ok(found) = state_of(&path) {
                history.settle(&path, &found);
            }
        }
        Ok((history, damaged))
    }

    /// What a conversation has changed, file by file. It blocks on the disk.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn overview(&self, key: &LogKey) -> Result<Overview, UserError> {
        let (history, damaged) = self.history(key)?;
        let files = history.files().into_iter().map(|file| {
            let now = content_of(&file.path);
            let original = match file.original.digest() {
                Some(digest) => self.contents().read(digest).ok().flatten(),
                None => Some(Vec::new()),
            };
            let (found, content) = match &now {
                Ok(Some((found, content))) => (Some(found.clone()), Some(content.as_slice())),
                Ok(None) => (Some(FileState::Absent), Some(&b""[..])),
                Err(_) => (None, None),
            };
            OverviewFile {
                difference: found.as_ref().map_or(Difference::Unknown, |found| {
                    // Texts can look the same line by line, and differ.
                    if found.digest() == file.original.digest() {
                        return Difference::None;
                    }
                    let unified = original.as_deref().zip(content).map(|(old, new)| Unified::of(old, new, 0));
                    match unified {
                        Some(Unified { is_compared: true, added, removed, .. }) if (added, removed) != (0, 0) => {
                            Difference::Lines(added, removed)
                        }
                        _ => Difference::Other,
                    }
                }),
                is_changed_since: found.as_ref() != Some(&file.left),
                exists: found.is_none_or(|found| found.digest().is_some()),
                existed: file.original.digest().is_some(),
                path: file.path,
                calls: file.calls,
            }
        });
        Ok(Overview { files: files.collect(), damaged })
    }

    /// A conversation has another file: what its old log says is said in the new one too. It blocks on the disk.
    ///
    /// # Errors
    /// When one of them cannot be read or written.
    pub fn carry_over(&self, from: &LogKey, to: &LogKey) -> io::Result<()> {
        let (from, to) = (self.log(from), self.log(to));
        let (read, known) = (log::read(&from)?.lines, log::read(&to)?.lines);
        let missing = read.iter().filter(|line| !known.contains(line));
        let text: String = missing.map(|line| line.to_text() + "\n").collect();
        if from == to || text.is_empty() {
            return Ok(());
        }
        line_file::append(&to, text.as_bytes(), Flush::Now, &[]).map_err(|fault| match fault {
            line_file::Fault::NotWritten(error) | line_file::Fault::NotFlushed(error) => error,
        })
    }

    /// Deletes what is too old or too much. It blocks on the disk.
    ///
    /// # Errors
    /// When the store or a log cannot be read. Nothing is deleted then.
    pub fn clean(&self, limits: Limits) -> io::Result<()> {
        if !self.folder().exists() {
            return Ok(());
        }
        self.clean_edited()?;
        clean::clean(self, limits)
    }
}
