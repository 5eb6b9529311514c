//! Records the changes of one call or one command of the user.

use std::{io, sync::atomic::Ordering};

use jiff::Timestamp;

use super::{Backups, Limits, LogKey, clean, log};
use crate::{
    line_file::{Fence, Flush, Lock},
    save::plain_words,
};
use flemma_journal::changes::{Cause, Change, ChangeId, FileState, Line};
use flemma_tools::{LeftBefore, Recorder, Upcoming};

/// Records the changes of one call or one command.
pub(super) struct CallRecorder {
    pub(super) backups: Backups,
    pub(super) key: LogKey,
    pub(super) cause: Cause,
    pub(super) limits: Limits,
    pub(super) fence: Option<Fence>,
}

/// A name that nothing else has.
pub(super) fn new_name() -> String {
    format!("{:032x}", fastrand::u128(..))
}

impl Recorder for CallRecorder {
    fn begin(&self, change: Upcoming<'_>) -> io::Result<Option<ChangeId>> {
        let begin = || {
            let _lock = self.backups.lock(Lock::Shared)?;
            let (old, added) = self.backups.contents().keep(change.path, self.limits.max_bytes)?;
            if old == *change.new && matches!(self.cause, Cause::Call { .. }) {
                return Ok(None);
            }
            let id = ChangeId(new_name());
            let line = Line::Change(Box::new(Change {
                id: id.clone(),
                at: Timestamp::now(),
                conversation: self.key.file(),
                cause: self.cause.clone(),
                path: change.path.to_owned(),
                old,
                new: change.new.clone(),
                folders: change.folders.iter().filter(|folder| folder.to_str().is_some()).cloned().collect(),
            }));
            log::append(&self.backups.log(&self.key), &line, Flush::Now, self.fence.as_ref())?;
            self.backups.grown.fetch_add(added, Ordering::Relaxed);
            Ok(Some(id))
        };
        begin().map_err(|error: io::Error| match error.kind() {
            // Whoever has taken the conversation over has to end.
            io::ErrorKind::ResourceBusy => io::Error::other(error.to_string()),
            _ => io::Error::other(format!(
                "what the file was could not be kept in {} ({}); make room or fix the state folder, and try again",
                self.backups.folder.display(),
                plain_words(&error),
            )),
        })
    }

    fn left_before(&self) -> LeftBefore {
        let Cause::Call { tool, input, .. } = &self.cause else { return LeftBefore::default() };
        // Without the log, a call looks at the files alone.
        let Ok((history, _)) = self.backups.history(&self.key) else { return LeftBefore::default() };
        let mut left = LeftBefore::default();
        for (by, files) in history.left_by(tool) {
            if by == *input {
                left.same = files;
            } else if !files.values().any(|state| *state == FileState::Absent) {
                left.others.extend(files);
            }
        }
        left
    }

    fn end(&self, id: &ChangeId, is_made: bool) {
        let line = if is_made { Line::Made { id: id.clone() } } else { Line::NotMade { id: id.clone() } };
        // Without this line, the file itself says what happened.
        let _ = log::append(&self.backups.log(&self.key), &line, Flush::Later, None);
        if self.backups.is_clean_due(self.limits) {
            let _ = clean::clean(&self.backups, self.limits);
        }
    }
}
