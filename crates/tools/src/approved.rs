//! What the user has approved of a proposal, and whether that is what a call would write now.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use super::{Content, FileChange, Proposal};
use flemma_journal::{Binding, BoundFile, Take};
use flemma_model::Digest;

/// Gives a content that the user has made, by its digest; `None` if it is not kept any more. It blocks on the disk.
pub type KeptContent = Arc<dyn Fn(&Digest) -> Option<Vec<u8>> + Send + Sync>;

/// What the user has approved.
#[derive(Clone)]
pub struct Approved {
    /// What they were shown, and what they take of it.
    pub binding: Binding,
    /// The contents that they have made of it.
    pub contents: KeptContent,
    /// What files had when their change was first shown, if somebody has changed them since.
    pub first: BTreeMap<PathBuf, Content>,
}

impl fmt::Debug for Approved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approved").field("binding", &self.binding).finish_non_exhaustive()
    }
}

impl Approved {
    /// Whether this is what a call would write now: the same files, from the contents that were shown to the contents that were
    /// shown. The same lines in a file that has become another one may stand in another place, so they do not count.
    pub fn covers(&self, proposal: &Proposal) -> bool {
        let files = &self.binding.files;
        if files.len() != proposal.files.len() {
            return false;
        }
        if self.binding.revision == proposal.revision().as_str() {
            return true;
        }
        let is_whole = files.iter().all(|file| file.take == Take::Proposed);
        is_whole && !files.is_empty() && files.iter().zip(&proposal.files).all(|(bound, change)| is_same(bound, change))
    }
}

/// Whether a file gets the change that was shown.
fn is_same(bound: &BoundFile, change: &FileChange) -> bool {
    let is = |content, digest: &Option<String>| Content::digest_of(content).map(Digest::as_str) == digest.as_deref();
    change.moved_to.is_none()
        && bound.path == change.path.to_string_lossy()
        && is(&change.old, &bound.old)
        && is(&change.new, &bound.new)
}
