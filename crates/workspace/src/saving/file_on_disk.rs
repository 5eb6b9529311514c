//! What is known of a conversation's file, and how it is written.
//!
//! What is known (the file's [`Stamp`]) is shared with the thread that writes, so that a second write knows the file that the
//! first one made, even before the main thread has heard of it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{FileLayout, background::done_within};
use flemma_chat::Snapshot;
use flemma_model::UserError;
use flemma_runtime::{
    Fence,
    save::{SaveError, Stamp, save},
};

/// How long the editor waits for the disk where it has to wait: on exit, and for a `:write` during a write of ours.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of a conversation's file.
#[derive(Clone, Debug, Default)]
enum KnownState {
    /// Nothing, or something else has changed it since it was read.
    #[default]
    Changed,
    /// The file of this name was last seen so; `None` if there was none.
    At(PathBuf, Option<Stamp>),
}

/// A conversation's file, for the main thread and the one that writes. A clone is the same file.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileOnDisk(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<KnownState>,
    /// Held while the file is written: the number of the latest text that was. The main thread never waits for it.
    written: Mutex<u64>,
    /// The number of the latest text that was taken.
    taken: AtomicU64,
}

/// A text on its way to the disk.
pub(crate) struct FileText {
    /// Texts are written in the order in which they were taken, whichever thread is faster.
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) lines: Snapshot,
    pub(crate) layout: FileLayout,
    /// Whether the file is overwritten whatever is in it now: `:write!`.
    pub(crate) is_forced: bool,
    /// Says whether this process still holds the conversation.
    pub(crate) fence: Option<Fence>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change leaves a whole value behind, also when a panic follows.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileOnDisk {
    /// The file of this name is as the editor knows it.
    pub(crate) fn note(&self, path: &Path) {
        self.set(match Stamp::of(path) {
            Ok(stamp) => KnownState::At(path.to_owned(), stamp),
            Err(_) => KnownState::Changed,
        });
    }

    fn set(&self, known: KnownState) {
        *lock(&self.0.known) = known;
    }

    /// Whether the file is as it was last seen.
    pub(crate) fn is_current(&self) -> bool {
        let known = lock(&self.0.known).clone();
        matches!(known, KnownState::At(path, stamp) if Stamp::of(&path).is_ok_and(|now| now == stamp))
    }

    /// The number for the next text.
    pub(crate) fn next(&self) -> u64 {
        self.0.taken.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes the file, unless a later text was written meanwhile. It blocks on the disk.
    ///
    /// # Errors
    /// When it was not written.
    pub(crate) fn write(
        &self,
        FileText { number, path, lines, layout, is_forced, fence }: &FileText,
    ) -> Result<(), UserError> {
        let mut written = lock(&self.0.written);
        if *written > *number {
            return Ok(());
        }
        let known = lock(&self.0.known).clone();
        let failed = |trouble: SaveError| not_written(path, &trouble.to_string()).with_advice(trouble.advice());
        let stamp = match known {
            _ if *is_forced => Ok(Stamp::of(path).map_err(|error| failed(error.into()))?),
            KnownState::At(at, stamp) if at == *path => Ok(stamp),
            // The buffer has another name now: such a file must not be there yet.
            KnownState::At(..) => Ok(None),
            KnownState::Changed => Err(SaveError::Changed),
        };
        let check = || fence.as_ref().map_or(Ok(()), |fence| fence());
        let bytes = layout.bytes(lines.pieces());
        let stamp = stamp.and_then(|stamp| save(path, &bytes, stamp, check)).map_err(failed)?;
        self.set(KnownState::At(path.clone(), Some(stamp)));
        *written = *number;
        Ok(())
    }

    /// Writes the file, and waits for it, but not for ever.
    ///
    /// # Errors
    /// When it was not written in time.
    pub(crate) fn write_now(self, text: FileText) -> Result<(), UserError> {
        let path = text.path.clone();
        let written = done_within(PATIENCE, "flemma-save", move || self.write(&text));
        written.unwrap_or_else(|| Err(not_written(&path, "the disk does not answer")))
    }
}

fn not_written(path: &Path, why: &str) -> UserError {
    let name = path.file_name().unwrap_or(path.as_os_str());
    UserError::new(format!("{} was not written: {why}.", name.display()))
}
