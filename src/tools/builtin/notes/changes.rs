//! What a call would change, and changing it.
//!
//! A tool proposes changes: each with the content that a file has, and the content that it would get. They are carried out
//! if every file still has that content. Otherwise they are proposed again. All files are held before the first one is written,
//! so that what can be known beforehand (a file that is read-only, or protected) keeps all of them from being written.

use std::{fs, io, os::unix::fs::MetadataExt};

use super::{
    super::{
        files,
        replace::{Mode, WriteTarget},
    },
    space::Space,
};
use crate::{
    model::ModelError,
    notes::PageName,
    tools::{Outcome, Output, paths},
};

/// How often changes are proposed before the call fails.
const MAX_TRIES: usize = 5;

/// A change of one page.
pub(super) struct Change {
    /// The page.
    pub(super) page: PageName,
    /// Its content; `None` if it does not exist.
    pub(super) old: Option<Vec<u8>>,
    /// The content that it gets.
    pub(super) new: Vec<u8>,
    /// The name that it gets, if it gets another one.
    pub(super) moved_to: Option<PageName>,
}

/// What a call would change.
pub(super) struct Proposal {
    /// The changes, in the order in which they are carried out.
    pub(super) changes: Vec<Change>,
    /// What the model is told of them afterwards: a sentence.
    pub(super) summary: String,
    /// What differs, as a diff; empty for none.
    pub(super) diff: String,
}

impl Proposal {
    /// One change of a page that exists.
    pub(super) fn of(page: PageName, old: Vec<u8>, new: Vec<u8>, summary: String) -> Result<Self, ModelError> {
        if old == new {
            return Err(ModelError::new(format!("This would not change `{page}`: it has this content already.")));
        }
        let diff = super::unified::diff(&old, &new);
        let change = Change { page, old: Some(old), new, moved_to: None };
        Ok(Self { changes: vec![change], summary, diff })
    }
}

/// The files of a change.
struct Held<'a> {
    change: &'a Change,
    target: WriteTarget,
    moved_to: Option<WriteTarget>,
}

/// Carries out what `propose` proposes.
///
/// # Errors
/// If nothing can be proposed, or it cannot be written.
pub(super) fn carry_out(
    space: &Space<'_>,
    propose: impl Fn() -> Result<Proposal, ModelError>,
) -> Result<Outcome, ModelError> {
    for _ in 0..MAX_TRIES {
        let proposal = propose()?;
        let held = hold(space, &proposal.changes)?;
        if is_current(&held)? {
            space.go_on()?;
            write(&held)?;
            let Proposal { summary, diff, .. } = proposal;
            return Ok(if diff.is_empty() {
                Outcome::text(summary)
            } else {
                Outcome::Success(Output::Diff(format!("{summary}\n\n{diff}")))
            });
        }
    }
    Err(ModelError::new("The notes are being changed by something else. Nothing was written. Try again."))
}

/// Takes the right to change all files.
fn hold<'a>(space: &Space<'_>, changes: &'a [Change]) -> Result<Vec<Held<'a>>, ModelError> {
    // Two calls that change the same files take them in the same order.
    let mut wanted: Vec<(_, usize, bool)> = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        wanted.push((paths::real(&space.file(&change.page)?), at, false));
        if let Some(other) = &change.moved_to {
            wanted.push((paths::real(&space.file(other)?), at, true));
        }
    }
    wanted.sort();
    if let Some(pair) = wanted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let name = &changes[pair[0].1].page;
        return Err(ModelError::new(format!("`{name}` is the same file as another page that would be changed.")));
    }
    let (mut targets, mut others) = (Vec::new(), Vec::new());
    for (path, at, is_other) in wanted {
        let change = &changes[at];
        let page = change.moved_to.as_ref().filter(|_| is_other).unwrap_or(&change.page);
        let target = WriteTarget::new(&path, page.as_str(), space.context)?;
        if !space.contains(target.path()) {
            return Err(ModelError::new(format!("`{page}` leads out of the folder of notes.")));
        }
        if target.existing.is_some() && (is_other || change.old.is_none()) {
            return Err(ModelError::new(format!("There is already a page `{page}`. Nothing was changed.")));
        }
        if is_other { others.push((at, target)) } else { targets.push((at, target)) }
    }
    targets.sort_by_key(|(at, _)| *at);
    let mut take_other = |at: usize| {
        let place = others.iter().position(|(of, _)| *of == at)?;
        Some(others.swap_remove(place).1)
    };
    Ok(targets
        .into_iter()
        .map(|(at, target)| Held { change: &changes[at], target, moved_to: take_other(at) })
        .collect())
}

/// Whether all files are as they were when the changes were proposed.
fn is_current(held: &[Held<'_>]) -> Result<bool, ModelError> {
    for Held { change, target, .. } in held {
        let found = match fs::read(target.path()) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(problem(&change.page, &error)),
        };
        if found != change.old {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write(held: &[Held<'_>]) -> Result<(), ModelError> {
    let mut written: Vec<String> = Vec::new();
    for Held { change, target, moved_to } in held {
        let done = match moved_to {
            // A crash in between leaves both.
            Some(other) => {
                let mode = target.existing.as_ref().map_or(Mode::Kept, |existing| Mode::Set(existing.mode() & 0o7777));
                other.put(&change.new, mode).and_then(|()| target.remove(&[]))
            }
            None => target.write(&change.new),
        };
        if let Err(error) = done {
            let before = match written.as_slice() {
                [] => String::new(),
                pages => format!(" These pages were written before: {}.", pages.join(", ")),
            };
            return Err(ModelError::new(format!("{}{before}", problem(&change.page, &error))));
        }
        written.push(format!("`{}`", change.page));
    }
    Ok(())
}

fn problem(page: &PageName, error: &io::Error) -> ModelError {
    ModelError::new(format!("{page}: {}.", files::reason(error)))
}
