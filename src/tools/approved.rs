//! What the user has approved of a proposal, and whether that is what a call would write now.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{FileChange, Proposal};
use crate::{
    journal::{Before, Binding, BoundFile, Take},
    model::Digest,
    text::unified::Unified,
};

/// The most writes that are remembered.
const MAX_WRITES: usize = 10_000;

/// Gives a content that the user has made, by its digest; `None` if it is not kept any more. It blocks on the disk.
pub type KeptContent = Arc<dyn Fn(&Digest) -> Option<Vec<u8>> + Send + Sync>;

/// What the user has approved.
#[derive(Clone)]
pub struct Approved {
    /// What they were shown, and what they take of it.
    pub binding: Binding,
    /// The contents that they have made of it.
    pub contents: KeptContent,
}

impl fmt::Debug for Approved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approved").field("binding", &self.binding).finish_non_exhaustive()
    }
}

impl Approved {
    /// Whether this is what a call would write now: exactly what was shown, or the same change of files that only calls of
    /// this conversation have changed since, or were to change before it.
    #[must_use]
    pub fn covers(&self, proposal: &Proposal, own: &OwnWrites) -> bool {
        let files = &self.binding.files;
        if self.binding.revision == proposal.revision().as_str() {
            return files.len() == proposal.files.len();
        }
        let is_whole = files.iter().all(|file| file.take == Take::Proposed);
        is_whole
            && !files.is_empty()
            && files.len() == proposal.files.len()
            && files.iter().zip(&proposal.files).all(|(bound, change)| is_same_change(bound, change, own))
    }
}

/// Whether a file gets the change that was shown, although a call of this conversation may have written it since.
fn is_same_change(bound: &BoundFile, change: &FileChange, own: &OwnWrites) -> bool {
    let digest = |content: &Option<super::Content>| content.as_ref().map(|content| content.digest.as_str().to_owned());
    let (old, new) = (digest(&change.old), digest(&change.new));
    if change.moved_to.is_some() || bound.path != change.path.to_string_lossy() {
        return false;
    }
    if bound.old == old && bound.new == new {
        return true;
    }
    let is_led_from = |from: &Option<String>| own.lead(&change.path, from, &old);
    // What calls above were to change may not be changed yet.
    let is_led_from_disk = match &bound.on_disk {
        Before::Unknown => false,
        Before::Absent => is_led_from(&None),
        Before::Content(digest) => is_led_from(&Some(digest.clone())),
    };
    // The same content in the end is not enough: from another beginning, it is another change than the one that was shown.
    (is_led_from(&bound.old) || is_led_from_disk) && has_changed_lines(bound, change)
}

fn has_changed_lines(bound: &BoundFile, change: &FileChange) -> bool {
    let bytes = |content: &Option<super::Content>| content.as_ref().and_then(|content| content.bytes.clone());
    let (Some(old), Some(new)) = (bytes(&change.old), bytes(&change.new)) else { return false };
    !bound.changed_lines.is_empty() && Unified::of(&old, &new, 0).changed_lines == bound.changed_lines
}

/// What calls of a conversation have written in this session, in its order.
#[derive(Debug, Default)]
pub struct OwnWrites(Mutex<Vec<OwnWrite>>);

#[derive(Debug)]
struct OwnWrite {
    path: PathBuf,
    old: Option<String>,
    new: Option<String>,
}

impl OwnWrites {
    /// A call has written a file. The contents are named by their digests; `None` for no file.
    pub fn add(&self, path: &Path, old: Option<&Digest>, new: Option<&Digest>) {
        let name = |digest: Option<&Digest>| digest.map(|digest| digest.as_str().to_owned());
        let mut writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writes.len() == MAX_WRITES {
            writes.remove(0);
        }
        writes.push(OwnWrite { path: path.to_owned(), old: name(old), new: name(new) });
    }

    /// Whether these writes alone lead from one content of a file to another one.
    fn lead(&self, path: &Path, from: &Option<String>, to: &Option<String>) -> bool {
        let writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = from;
        for write in writes.iter().filter(|write| write.path == path) {
            if write.old == *now {
                now = &write.new;
            }
        }
        now == to
    }
}
