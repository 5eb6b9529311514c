//! Carrying out what a call proposes.
//!
//! A tool that writes files only proposes them. What it proposes is carried out if every file still has the content that the
//! proposal names. Otherwise it is proposed again. If the user has approved something, it is carried out only if it is that
//! ([`Approved::covers`](crate::Approved::covers)), with what they have made of it. All files are held before the first one
//! is written, so that what can be known beforehand (a file that is read-only, or protected) keeps all of them from being
//! written.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{
    files, guard,
    replace::{WriteTarget, count_changes},
    written::{self, Step},
};
use crate::{Approved, Concern, Content, Context, FileChange, Outcome, Proposal};
use flemma_journal::{Before, BoundFile, Take};
use flemma_model::{Digest, ModelError, UserError};

/// How often a call proposes before it fails, if it is not another call that changes the files.
const MAX_TRIES: usize = 5;

/// Why a change is not made that was shown as it follows those of calls above.
const NOT_YET: &str = "this change was shown as it follows that of a call above, which has not been made like that; decide about \
     the calls in their order, or look at it again";

/// A file that is about to be written.
struct Held<'a> {
    step: &'a Step<'a>,
    target: WriteTarget,
    moved_to: Option<WriteTarget>,
}

impl Held<'_> {
    /// What the user has to know before it is written.
    fn concern(&self) -> Option<Concern> {
        let other = self.moved_to.as_ref().and_then(|other| other.unsaved.clone());
        let change = FileChange { unsaved: self.target.unsaved.clone().or(other), ..self.step.change.clone() };
        change.concern()
    }
}

/// Carries out what `propose` proposes.
pub(super) fn carry_out(context: &Context, propose: impl Fn() -> Result<Proposal, ModelError>) -> Outcome {
    let mut tries = 0;
    while tries < MAX_TRIES {
        let changes = count_changes();
        match attempt(context, &propose) {
            Ok(Some(outcome)) => return outcome,
            // Many calls for one file take turns. Whenever one has to propose again, another one has made its change.
            Ok(None) if count_changes() != changes => {}
            Ok(None) => tries += 1,
            Err(error) => return Outcome::failure(error),
        }
    }
    Outcome::failure(ModelError::new("The files are being changed by something else. Nothing was written. Try again."))
}

/// `None` if something has changed a file meanwhile.
fn attempt(
    context: &Context,
    propose: impl Fn() -> Result<Proposal, ModelError>,
) -> Result<Option<Outcome>, ModelError> {
    let approved = context.approved.as_deref();
    let outdated = |why: &str| Ok(Some(Outcome::Outdated(UserError::new(why))));
    let proposal = match (propose(), approved) {
        (Err(_), Some(approved)) if is_done(approved) => return Ok(Some(already_done())),
        // It is possible, or was to be, once the calls above have made their changes.
        (Err(_), Some(approved)) if approved.binding.follows_calls() => return outdated(NOT_YET),
        // What they have made of it is not lost.
        (Err(problem), Some(approved)) if approved.binding.is_changed() => {
            return outdated(problem.to_string().trim_end_matches('.'));
        }
        (proposal, _) => proposal?,
    };
    proposal.check_distinct()?;
    let steps = match approved {
        None => proposal.files.iter().map(Step::as_proposed).collect(),
        Some(approved) if approved.covers(&proposal) => match approved_steps(approved, &proposal) {
            Some(steps) => steps,
            None => return outdated("what you made of it is not kept any more"),
        },
        Some(approved) if is_done(approved) => return Ok(Some(already_done())),
        Some(approved) if is_too_early(approved, &proposal) => return outdated(NOT_YET),
        Some(approved) => return outdated(&changed_since(approved, &proposal)),
    };
    let writing: Vec<&Step<'_>> = steps.iter().filter(|step| step.take != Take::Left).collect();
    let held = hold(context, &writing)?;
    if !is_current(&held)? {
        return Ok(None);
    }
    if !context.is_decided
        && let Some(concern) = held.iter().find_map(Held::concern)
    {
        return Ok(Some(Outcome::Asks(concern)));
    }
    if context.cancel.is_cancelled() || !context.commitment.begin() {
        // After this point, everything is written.
        bail!("Cancelled by the user: nothing was written.");
    }
    write(&held)?;
    drop(held);
    Ok(Some(written::outcome(&proposal, &steps)))
}

/// What is done with each file; `None` if what the user has made of one is not kept any more.
fn approved_steps<'a>(approved: &Approved, proposal: &'a Proposal) -> Option<Vec<Step<'a>>> {
    let steps = approved.binding.files.iter().zip(&proposal.files).map(|(bound, change)| {
        let new = match &bound.take {
            Take::Proposed => change.new.clone(),
            Take::Left => None,
            Take::Edited(digest) => {
                let content = Content::new((approved.contents)(&Digest::parse(digest)?)?);
                (content.digest.as_str() == digest).then_some(())?;
                Some(content)
            }
        };
        let first = approved.first.get(&change.path).cloned();
        Some(Step { change, take: bound.take.clone(), new, first })
    });
    steps.collect()
}

/// Whether all files have what was approved for them: the call was carried out before, and interrupted. What a file had before
/// the calls above were to change it does not count.
fn is_done(approved: &Approved) -> bool {
    let mut files = approved.binding.files.iter().filter(|file| file.take != Take::Left).peekable();
    files.peek().is_some()
        && files.all(|file| {
            let wanted = if let Take::Edited(digest) = &file.take { Some(digest) } else { file.new.as_ref() };
            let Ok(found) = guard::content_at(Path::new(&file.path)) else { return false };
            let found = Content::digest_of(&found).map(Digest::as_str);
            found == wanted.map(String::as_str) && !was_on_disk(file, found)
        })
}

/// Whether a file has what it had when its change was shown, and calls above were to change that first.
fn was_on_disk(file: &BoundFile, found: Option<&str>) -> bool {
    match &file.on_disk {
        Before::Unknown => false,
        Before::Absent => found.is_none(),
        Before::Content(digest) => found == Some(digest.as_str()),
    }
}

/// Whether calls above were to change a file first, and have not.
fn is_too_early(approved: &Approved, proposal: &Proposal) -> bool {
    let mut files = approved.binding.files.iter().zip(&proposal.files);
    files.any(|(file, change)| was_on_disk(file, Content::digest_of(&change.old).map(Digest::as_str)))
}

fn already_done() -> Outcome {
    Outcome::text("The files have the content that the user approved for them.")
}

fn changed_since(approved: &Approved, proposal: &Proposal) -> String {
    let names: Vec<&str> = proposal.files.iter().map(|file| file.name.as_str()).collect();
    if let Some(place) = proposal.leads_to(&approved.binding) {
        return format!("{} led elsewhere when you were shown this change, and {place}; look at it again", names[0]);
    }
    let (word, has) = if names.len() == 1 { ("file", "has") } else { ("files", "have") };
    format!("the {word} {has} changed since you were shown this change ({}); look at it again", names.join(", "))
}

/// Takes the right to change all files.
fn hold<'a>(context: &Context, steps: &[&'a Step<'a>]) -> Result<Vec<Held<'a>>, ModelError> {
    // Two calls that change the same files take them in the same order.
    let wanted = steps.iter().enumerate().flat_map(|(at, step)| {
        let other = step.change.moved_to.as_ref().map(|(path, name)| (path, name, at, true));
        [(&step.change.path, &step.change.name, at, false)].into_iter().chain(other)
    });
    let wanted: BTreeSet<(&PathBuf, &String, usize, bool)> = wanted.collect();
    let mut targets = BTreeMap::new();
    for (path, name, at, is_other) in wanted {
        let target = WriteTarget::new(path, name, context, &steps[at].change.bounds)?;
        ensure!(target.existing.is_none() || !is_other, "`{name}` exists already. Nothing was changed.");
        targets.insert((at, is_other), target);
    }
    let mut held = Vec::new();
    while let Some(((at, _), target)) = targets.pop_first() {
        held.push(Held { step: steps[at], target, moved_to: targets.remove(&(at, true)) });
    }
    Ok(held)
}

/// Whether all files are as they were when the changes were proposed.
fn is_current(held: &[Held<'_>]) -> Result<bool, ModelError> {
    for Held { step: Step { change, .. }, target, .. } in held {
        let found = target.content(&change.name)?;
        if target.path() != change.path || Content::digest_of(&found) != Content::digest_of(&change.old) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write(held: &[Held<'_>]) -> Result<(), ModelError> {
    let mut written: Vec<String> = Vec::new();
    for Held { step: Step { change, new, .. }, target, moved_to } in held {
        let too_large = || ModelError::new(format!("{}: the content is too large to be written.", change.name));
        let bytes = new.as_ref().map(|content| content.bytes.as_deref().ok_or_else(too_large)).transpose()?;
        let done = match (bytes, moved_to) {
            (Some(bytes), None) => target.put(bytes, None),
            (None, _) => target.remove(&[]),
            (Some(bytes), Some(other)) => {
                // The move comes last: what has the new name is complete, also after a kill.
                let has_content = Content::digest_of(&change.old) == Content::digest_of(new);
                let prepared = match has_content {
                    true => Ok(()),
                    false => target.put(bytes, None).map(|()| written.push(format!("`{}`", change.name))),
                };
                prepared.and_then(|()| target.move_to(other, bytes))
            }
        };
        if let Err(error) = done {
            let before = match written.as_slice() {
                [] => String::new(),
                names => format!(" These files were written before: {}.", names.join(", ")),
            };
            let problem = files::problem(target.path(), &change.name, &error, |_| false);
            bail!("{problem}{before}");
        }
        written.push(format!("`{}`", change.name));
    }
    Ok(())
}
