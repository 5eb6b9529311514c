//! Finding out what the calls of a conversation would write, from the first to the last: what a call would write is made from what
//! those above it would leave. It looks at the disk, away from the main thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use serde_json::Value;

use super::proposals::{Found, Ready};
use crate::{
    journal::{CallKey, Take},
    model::{Digest, ModelError},
    tools::{Approved, Content, Context, Earlier, NativeTool, Proposal},
};

/// A call that would write something.
pub(super) struct Candidate {
    pub(super) key: CallKey,
    pub(super) tool: Arc<dyn NativeTool>,
    pub(super) input: Value,
    pub(super) context: Context,
    /// What is known of it, unless that has to be found out again.
    pub(super) known: Option<Arc<Ready>>,
    /// What the user has approved of it, if it is about to be carried out.
    pub(super) approved: Option<Approved>,
}

/// What was found out about a call.
pub(super) struct Surveyed {
    pub(super) found: Found,
    /// Whether there is nothing to be found because the call has made its change from contents that the files do not have, or would
    /// not have after the calls above. It cannot make it anew.
    pub(super) is_stale: bool,
}

/// Finds out what calls would write, in the order of the calls. `tell` hears of all of which that was not known, or may be
/// something else now.
pub(super) fn survey(candidates: &[Candidate], tell: impl Fn(&CallKey, Surveyed)) {
    // Of large files only the digests are known. If a call needs the bytes, everything above it is made once more.
    if !try_survey(candidates, false, &tell) {
        try_survey(candidates, true, &tell);
    }
}

/// `false` if a call needs bytes of what is known of a call above it. `is_afresh` takes nothing for known.
fn try_survey(candidates: &[Candidate], is_afresh: bool, tell: &impl Fn(&CallKey, Surveyed)) -> bool {
    let mut earlier = Earlier::default();
    let mut above = Vec::new();
    for candidate in candidates {
        let seen = earlier.for_next_call();
        let is_known =
            |ready: &&Arc<Ready>| !ready.has_other_base(&seen) && !ready.is_doubtful(&candidate.context.unsaved);
        let known = candidate.known.as_ref().filter(|_| !is_afresh).filter(is_known);
        let proposal = match known {
            Some(ready) => Some(candidate.decided(&ready.proposal)),
            None => {
                let proposed = candidate.propose(&seen);
                if seen.lacks_bytes() && !is_afresh {
                    return false;
                }
                let proposal = proposed.as_ref().ok().map(|proposal| candidate.decided(proposal));
                let found = proposed.map(|proposal| Arc::new(Ready::of(proposal, &seen, &above)));
                tell(&candidate.key, Surveyed { found, is_stale: seen.is_stale() });
                proposal
            }
        };
        if let Some(proposal) = proposal {
            earlier.add(&candidate.key.id, &proposal);
        }
        above.push(candidate.key.clone());
    }
    true
}

impl Candidate {
    fn propose(&self, earlier: &Earlier) -> Result<Proposal, ModelError> {
        let context = Context { earlier: earlier.clone(), ..self.context.clone() };
        let name = &self.key.tool;
        let proposed = catch_unwind(AssertUnwindSafe(|| self.tool.propose(&self.input, &context)));
        let crashed = |_| {
            let words = format!("The tool `{name}` crashed. This is a bug in Flemma, not in the call.");
            Some(Err(ModelError::new(words)))
        };
        let nothing = || Err(ModelError::new(format!("The tool `{name}` proposes nothing.")));
        proposed.unwrap_or_else(crashed).unwrap_or_else(nothing)
    }

    /// What the call will write, as far as the user has decided about that.
    fn decided(&self, proposal: &Proposal) -> Proposal {
        let mut decided = proposal.clone();
        let Some(approved) = self.approved.as_ref().filter(|approved| {
            approved.binding.revision == proposal.revision().as_str()
                && approved.binding.files.len() == proposal.files.len()
        }) else {
            return decided;
        };
        let takes = approved.binding.files.iter().map(|file| &file.take);
        let files = std::mem::take(&mut decided.files).into_iter().zip(takes);
        decided.files = files
            .filter_map(|(mut change, take)| match take {
                Take::Proposed => Some(change),
                Take::Left => None,
                Take::Edited(digest) => {
                    let bytes = (approved.contents)(&Digest::parse(digest)?)?;
                    change.new = Some(Content::new(bytes));
                    Some(change)
                }
            })
            .collect();
        decided
    }
}
