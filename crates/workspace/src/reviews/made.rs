//! What the user has made of a change in an earlier review, maybe in an earlier session.

use std::sync::Arc;

use flemma_journal::{Binding, BoundFile, Take};
use flemma_model::Digest;
use flemma_tools::{Approved, Content, FileChange, Proposal, Review};

/// What the user has made of a proposal.
#[derive(Debug)]
pub(crate) struct Made {
    /// The decision that says so.
    decision: Option<Binding>,
    /// What an approval takes of each file.
    pub(crate) takes: Vec<Take>,
    /// What is shown of that; `None` if all of the proposal is taken.
    pub(crate) review: Option<Review>,
    /// Why that is not what they have decided; `None` if it is.
    pub(crate) not_made: Option<NotMade>,
    /// What a review begins with.
    pub(crate) files: Vec<MadeFile>,
}

/// Why what the user has made of a change is not what would be written now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// The call would write something else now.
    Changed,
    /// The call cannot make its change now.
    Impossible,
    /// The contents that they have made are not there.
    Lost,
}

impl NotMade {
    /// In words, after the name of the call.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Changed => "you have edited this change, and a file or a call above has changed since",
            Self::Impossible => "you have edited this change, and it cannot be made now",
            Self::Lost => "your edit of this change is no longer kept",
        }
    }

    /// Above the change.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::Changed => "It has changed since you edited it; gK shows both.",
            Self::Impossible => "Your edit is kept.",
            Self::Lost => "Your edit is no longer kept.",
        }
    }
}

/// What the user has made of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeFile {
    /// Whether they have left it out.
    pub is_left: bool,
    /// What they have edited.
    pub draft: Option<Draft>,
}

/// What the user has edited of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The file as they want it.
    pub text: Arc<Vec<u8>>,
    /// The file as it was then.
    pub base: Arc<Vec<u8>>,
}

impl Made {
    /// What an earlier decision says about a proposal. It blocks on the disk.
    pub(crate) fn of(proposal: &Proposal, decision: Option<&Approved>) -> Self {
        let made = |file| decision.map_or_else(MadeFile::default, |decision| made_of(decision, file));
        let files = proposal.files.iter().map(made).collect();
        let (mut takes, mut review) = (vec![Take::Proposed; proposal.files.len()], None);
        if let Some((approved, decided)) =
            decision.and_then(|approved| Some((approved, carried_out(approved, proposal)?)))
            && decided != *proposal
        {
            takes = approved.binding.files.iter().map(|file| file.take.clone()).collect();
            review = Some(Review::of(&decided));
        }
        let not_made = decision.filter(|decision| review.is_none() && decision.binding.is_changed());
        let not_made = not_made.map(|decision| if is_lost(decision) { NotMade::Lost } else { NotMade::Changed });
        Self { decision: decision.map(|decision| decision.binding.clone()), takes, review, not_made, files }
    }

    /// Whether it was made from this decision.
    pub(crate) fn is_of(&self, decision: Option<&Binding>) -> bool {
        self.decision.as_ref() == decision
    }

    /// What is said of it above the change.
    pub(crate) fn note(&self) -> Option<&'static str> {
        if self.review.is_some() {
            return Some("as you have edited it");
        }
        self.not_made.map(NotMade::note)
    }
}

/// What will be written of a proposal; `None` if the decision is for another one.
pub(crate) fn carried_out(decision: &Approved, proposal: &Proposal) -> Option<Proposal> {
    let files = &decision.binding.files;
    let is_same = decision.binding.revision == proposal.revision().as_str() && files.len() == proposal.files.len();
    if !is_same {
        return None;
    }
    let mut decided = proposal.clone();
    decided.files.clear();
    for (change, bound) in proposal.files.iter().zip(files) {
        let new = match &bound.take {
            Take::Left => continue,
            Take::Proposed => change.new.clone(),
            Take::Edited(digest) => Some(Content::new(content(decision, digest)?)),
        };
        decided.files.push(FileChange { new, ..change.clone() });
    }
    Some(decided)
}

/// Whether a content that a decision names is not there.
fn is_lost(decision: &Approved) -> bool {
    let is_there = |file: &BoundFile| match &file.take {
        Take::Edited(digest) => content(decision, digest).is_some(),
        Take::Proposed | Take::Left => true,
    };
    !decision.binding.files.iter().all(is_there)
}

fn made_of(decision: &Approved, change: &FileChange) -> MadeFile {
    let bound = decision.binding.files.iter().find(|file| file.path == change.path.to_string_lossy());
    bound.map_or_else(MadeFile::default, |bound| MadeFile {
        is_left: bound.take == Take::Left,
        draft: draft(decision, bound, change),
    })
}

fn draft(decision: &Approved, bound: &BoundFile, change: &FileChange) -> Option<Draft> {
    let Take::Edited(digest) = &bound.take else { return None };
    let base = match (&bound.old, &change.old) {
        (None, _) => Arc::default(),
        (Some(old), Some(now)) if now.digest.as_str() == old => now.bytes.clone()?,
        (Some(old), _) => Arc::new(content(decision, old)?),
    };
    Some(Draft { text: Arc::new(content(decision, digest)?), base })
}

fn content(decision: &Approved, digest: &str) -> Option<Vec<u8>> {
    let content = (decision.contents)(&Digest::parse(digest)?)?;
    (Digest::of(&content).as_str() == digest).then_some(content)
}
