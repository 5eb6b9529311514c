//! Contents that the user has made of proposals. An approval names them by their digests, so that it outlives the editor.

use std::{
    fs, io,
    time::{Duration, SystemTime},
};

use super::{Backups, contents::Contents};
use flemma_model::Digest;

/// How long such a content is kept after it was needed last.
const KEPT: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// When it is noted again that a content is needed.
const NOTED: Duration = Duration::from_secs(24 * 60 * 60);

impl Backups {
    fn edited_contents(&self) -> Contents {
        Contents(self.folder().join("edited"))
    }

    /// Keeps a content that the user has made. It blocks on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_edited(&self, content: &[u8]) -> io::Result<()> {
        self.edited_contents().put(content)
    }

    /// A content that the user has made; `None` if it is not kept, or damaged. It blocks on the disk.
    #[must_use]
    pub fn edited(&self, digest: &Digest) -> Option<Vec<u8>> {
        let contents = self.edited_contents();
        let content = contents.read(digest).ok().flatten()?;
        contents.note_use(digest, NOTED);
        Some(content)
    }

    /// Deletes those that are too old.
    pub(super) fn clean_edited(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for content in self.edited_contents().all()? {
            if now.duration_since(content.modified).is_ok_and(|age| age > KEPT) {
                let _ = fs::remove_file(&content.path);
            }
        }
        Ok(())
    }
}
