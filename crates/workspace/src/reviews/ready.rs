//! A proposal that is ready to be shown, with what it was made from.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;

use crate::reviews::made::Made;
use flemma_journal::{Before, Binding, BoundFile, CallKey, Take};
use flemma_model::ModelError;
use flemma_tools::{Base, Content, Earlier, FileChange, Proposal, Review, Revision, paths::real};

/// The most bytes of the files of a proposal that are kept in memory.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// How far the times of files may be behind.
const TICK: Duration = Duration::from_millis(20);

/// What identifies the present content of a file without reading it.
type Stamp = (u64, u64, (i64, i64), (i64, i64));

fn stamp_of(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    let modified = (found.mtime(), found.mtime_nsec());
    Some((found.ino(), found.len(), modified, (found.ctime(), found.ctime_nsec())))
}

/// Whether the file was last changed before this time, by the clock of the system, which may be `TICK` behind.
fn is_older_than((.., (seconds, nanoseconds)): &Stamp, time: SystemTime) -> bool {
    let changed = Timestamp::new(*seconds, i32::try_from(*nanoseconds).unwrap_or_default());
    changed.is_ok_and(|changed| SystemTime::from(changed) + TICK < time)
}

/// A proposal that is ready to be shown.
#[derive(Debug)]
pub(crate) struct Ready {
    /// What is shown.
    pub(crate) review: Review,
    /// The proposal. Of large files, it has no contents.
    pub(crate) proposal: Proposal,
    /// What the user has made of it before.
    pub(crate) made: Made,
    /// For each file the call above that would write it last, if there is one: it is shown as that would leave it.
    pub(crate) after: Vec<Option<CallKey>>,
    /// What it was made from, of what the calls above would write.
    pub(crate) base: Base,
    /// What each file really has, where it is shown as calls above would leave it.
    on_disk: Vec<Before>,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether a file may have changed between the look at its content and that at its stamp.
    is_unsure: bool,
}

impl Ready {
    /// What is shown of a proposal that was made from what these calls above it would write, with what the user has made of it. It
    /// takes as long as comparing the files. `since` is when the files began to be read.
    pub(crate) fn of(proposal: Proposal, made: Made, earlier: &Earlier, above: &[CallKey], since: SystemTime) -> Self {
        let stamp = |path: &PathBuf| (path.clone(), stamp_of(path));
        let stamps: Vec<_> = proposal.files.iter().map(|file| stamp(&file.path)).collect();
        let is_sure = |(file, (_, stamp)): (&FileChange, &(PathBuf, Option<Stamp>))| match stamp {
            Some(stamp) => is_older_than(stamp, since),
            None => file.old.is_none() || earlier.on_disk(&file.path).is_some(),
        };
        let is_unsure = !proposal.files.iter().zip(&stamps).all(is_sure);
        let review = Review::of(&proposal);
        let on_disk = proposal.files.iter().map(|file| match earlier.on_disk(&file.path) {
            None => Before::Unknown,
            Some(None) => Before::Absent,
            Some(Some(digest)) => Before::Content(digest.as_str().to_owned()),
        });
        let on_disk = on_disk.collect();
        let writer = |path: &PathBuf| {
            let id = earlier.writer(path)?;
            above.iter().rfind(|key| key.id == *id).cloned()
        };
        let after = proposal.files.iter().map(|file| writer(&file.path)).collect();
        let base = earlier.base();
        let proposal = proposal.without_bytes_above(MAX_BYTES);
        Self { review, proposal, made, after, base, on_disk, stamps, is_unsure }
    }

    /// Whether a file may have changed since, or is open with one of these changes that are not saved. It looks at the disk.
    pub(crate) fn is_doubtful(&self, unsaved: &[PathBuf]) -> bool {
        let mut stamps = self.stamps.iter();
        self.is_unsure
            || self.proposal.files.iter().any(|file| file.unsaved.is_some())
            || stamps.any(|(path, stamp)| stamp_of(path) != *stamp || unsaved.iter().any(|open| real(open) == *path))
    }

    /// The files that would be written, with links resolved.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let files = self.proposal.files.iter();
        let places = files.flat_map(|file| [Some(&file.path), file.moved_to.as_ref().map(|(path, _)| path)]);
        places.flatten().cloned().collect()
    }

    /// The revision.
    pub(crate) fn revision(&self) -> &Revision {
        &self.review.revision
    }

    /// The calls above whose changes it follows, in no order.
    pub(crate) fn followed(&self) -> Vec<CallKey> {
        let calls: BTreeSet<&CallKey> = self.after.iter().flatten().collect();
        calls.into_iter().cloned().collect()
    }

    /// Which calls it follows, in words for the user; `None` if it is made from what is there.
    pub(crate) fn follows(&self) -> Option<String> {
        match self.followed().as_slice() {
            [] => None,
            [call] => Some(after(call)),
            calls => {
                Some(format!("after the calls above, {}", calls.iter().map(label).collect::<Vec<_>>().join(" and ")))
            }
        }
    }

    /// The same for each file.
    pub(crate) fn file_follows(&self) -> impl Iterator<Item = Option<String>> {
        self.after.iter().map(|call| call.as_ref().map(after))
    }

    /// What the user is shown: what an approval writes.
    pub(crate) fn shown(&self) -> &Review {
        self.made.review.as_ref().unwrap_or(&self.review)
    }

    /// What an approval of this is for, of which the user takes this of each file.
    pub(crate) fn binding(&self, takes: impl IntoIterator<Item = Take>) -> Binding {
        let digest = |content: &Option<Content>| content.as_ref().map(|content| content.digest.as_str().to_owned());
        let files = self.proposal.files.iter().zip(&self.on_disk).zip(takes);
        let files = files.map(|((file, on_disk), take)| BoundFile {
            path: file.path.to_string_lossy().into_owned(),
            old: digest(&file.old),
            on_disk: on_disk.clone(),
            new: digest(&file.new),
            take,
        });
        Binding { revision: self.revision().to_string(), files: files.collect(), ..Binding::default() }
    }
}

/// A call in a message: `edit (toolu_01)`.
pub(crate) fn label(key: &CallKey) -> String {
    format!("{} ({})", key.tool, key.id)
}

fn after(key: &CallKey) -> String {
    format!("after the call above, {}", label(key))
}

/// What a call would write: the proposal, or why there is none.
pub(crate) type Found = Result<Arc<Ready>, ModelError>;

#[cfg(test)]
mod tests {
    use std::{thread, time::Instant};

    use super::*;

    fn ready(path: &Path, old: &str, since: SystemTime) -> Ready {
        let content = |text: &str| Some(Content::new(text.as_bytes().to_vec()));
        let change = FileChange {
            path: path.to_owned(),
            name: "a.txt".to_owned(),
            old: content(old),
            new: content("new\n"),
            moved_to: None,
            bounds: flemma_tools::Bounds::default(),
            is_read_only: false,
            is_start_up: false,
            unsaved: None,
        };
        let proposal = Proposal { files: vec![change], ..Proposal::default() };
        let made = Made::of(&proposal, None);
        Ready::of(proposal, made, &Earlier::default(), &[], since)
    }

    /// Its stamp is that of the other content, and would not change any more.
    #[test]
    fn a_file_that_changes_while_it_is_read_is_doubtful() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let since = SystemTime::now();
        fs::write(&path, "theirs\n").unwrap();
        assert!(ready(&path, "old\n", since).is_doubtful(&[]));
        fs::remove_file(&path).unwrap();
        assert!(ready(&path, "old\n", since).is_doubtful(&[]), "it was there");

        fs::write(&path, "old\n").unwrap();
        let deadline = Instant::now() + 3 * TICK;
        while Instant::now() < deadline {
            thread::sleep(TICK);
        }
        let ready = ready(&path, "old\n", SystemTime::now());
        assert!(!ready.is_doubtful(&[]), "it has not changed since");
        fs::write(&path, "theirs\n").unwrap();
        assert!(ready.is_doubtful(&[]));
    }
}
