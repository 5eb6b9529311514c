//! Writing what a tool has proposed while it ran: contents that were kept until the user has decided.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{carry_out::carry_out, deadline::blocking, notes, replace::WriteTarget, written};
use crate::{Approved, Bounds, Content, Context, FileChange, KeptContent, NativeTool, Outcome, Proposal, SeenPages};
use flemma_journal::{Before, Binding, BoundFile, Proposed, ProposedContent, Take};
use flemma_model::{Digest, ModelError, UserError};

/// Why a change is not made if the approval was for another one of the same call.
const ANOTHER_CHANGE: &str = "another change of this call was approved; look at this one";

/// Writes what a call has proposed while it ran. It is what is left of the call: the input is not looked at.
///
/// Every name is judged again when it is proposed and when it is written, as in a call of `write` or of the tools for notes.
#[derive(Clone)]
pub struct StoredWrite {
    /// What is written.
    pub proposed: Proposed,
    /// The contents that it gets.
    pub contents: KeptContent,
}

impl StoredWrite {
    /// What would be written now.
    ///
    /// # Errors
    /// If a file must not be read or written, a content is not kept any more, or it was made from another content than the file has, or
    /// is to get from a call above.
    pub fn proposal(&self, context: &Context) -> Result<Proposal, ModelError> {
        let files = self.changes(context)?;
        for (file, change) in self.proposed.files.iter().zip(&files) {
            check_base(file, change, context).inspect_err(|_| context.earlier.note_stale())?;
        }
        let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.name)).collect();
        // What the model may not read, it is not shown here either.
        let diffs = files.iter().filter(|file| !context.is_unread(&file.path)).map(|file| {
            let bytes = |content| Content::bytes_of(content).unwrap_or_default();
            written::diff(&bytes(&file.old), &bytes(&file.new))
        });
        let diff = diffs.filter(|diff| !diff.is_empty()).collect::<Vec<_>>().join("\n\n");
        Ok(Proposal { files, summary: format!("Wrote {}.", names.join(", ")), diff })
    }

    /// Whoever approves without having been shown the change approves it for the files as they were when the call proposed it.
    fn bound(&self, context: &Context) -> Context {
        let mut context = context.clone();
        let is_known = self.proposed.files.iter().all(|file| !file.before.is_unknown());
        if context.approved.is_none() && is_known {
            // If nothing can be proposed now, the approval is for no file. It must not be for whatever is possible a moment later.
            let changes = self.changes(&context).unwrap_or_default();
            let files = self.proposed.files.iter().zip(&changes).map(|(file, change)| {
                let old = if let Before::Content(digest) = &file.before { Some(digest.clone()) } else { None };
                let path = change.path.to_string_lossy().into_owned();
                let new = Some(file.content.clone());
                BoundFile { path, old, on_disk: Before::Unknown, new, take: Take::Proposed }
            });
            // No proposal has this revision: the files are compared.
            let binding = Binding { files: files.collect(), ..Binding::default() };
            context.approved =
                Some(Arc::new(Approved { binding, contents: Arc::clone(&self.contents), first: BTreeMap::new() }));
        }
        context
    }

    /// Whether the user has approved a change of other files, or other contents. A call can propose several changes, one after the
    /// other, and files that have what was approved for an earlier one say nothing about this one.
    fn is_approved_for_another(&self, context: &Context) -> bool {
        let bound = context.approved.as_deref().map_or(&[][..], |approved| &approved.binding.files);
        let changes = self.changes(context).ok();
        let is_same = |(at, file): (usize, &BoundFile)| {
            // A file that cannot be read now has no known path.
            let is_there = changes.as_ref().is_none_or(|changes| file.path == changes[at].path.to_string_lossy());
            is_there && file.new.as_ref() == Some(&self.proposed.files[at].content)
        };
        let is_all_same = bound.len() == self.proposed.files.len() && bound.iter().enumerate().all(is_same);
        !bound.is_empty() && !is_all_same
    }

    /// The run that wrote pages knows what it wrote. What the user has made of that, it does not know.
    fn note_written(&self, context: &Context, changes: &[FileChange]) {
        let takes: &[BoundFile] = context.approved.as_deref().map_or(&[], |approved| &approved.binding.files);
        for (at, (file, change)) in self.proposed.files.iter().zip(changes).enumerate() {
            let is_left = takes.get(at).is_some_and(|bound| bound.take == Take::Left);
            if file.is_page && !is_left {
                context.seen.note_digest(&change.path, Content::digest_of(&change.new).cloned());
            }
        }
    }

    /// How the files would change.
    fn changes(&self, context: &Context) -> Result<Vec<FileChange>, ModelError> {
        self.proposed.files.iter().map(|file| self.change(file, context)).collect()
    }

    fn change(&self, file: &ProposedContent, context: &Context) -> Result<FileChange, ModelError> {
        let ProposedContent { name, is_page, content, .. } = file;
        let (path, bounds) = match is_page {
            true => notes::file_of_page(context, name)?,
            false => (context.resolve(name), Bounds::Writable),
        };
        let target = WriteTarget::new(&path, name, context, &bounds)?;
        let old = target.content(name)?;
        let kept = Digest::parse(content).and_then(|digest| (self.contents)(&digest));
        let Some(kept) = kept else {
            bail!(
                "{name}: what the call wanted to write is not kept any more. Nothing was written. Call the tool again."
            );
        };
        Ok(target.change(name, old, Content::new(kept)))
    }
}

/// A tool writes the whole of a file, and made that from what it knew of it. So it must not be written over anything else, or take
/// back what a call above is to write: the tool has not seen that.
///
/// # Errors
/// If it was made from something else.
fn check_base(file: &ProposedContent, change: &FileChange, context: &Context) -> Result<(), ModelError> {
    let old = Content::digest_of(&change.old);
    let known = if file.seen.is_unknown() { context.seen.known(&change.path) } else { file.seen.clone() };
    let name = &file.name;
    if context.earlier.on_disk(&change.path).is_some() {
        // It may have looked at the file by itself. That was before it proposed this.
        let known = if known.is_unknown() { &file.before } else { &known };
        if !known.admits(old) {
            let call = context.earlier.writer(&change.path).map_or_else(String::new, |id| format!(" ({id})"));
            bail!(
                "A call before this one{call} also changes `{name}`, and this call was made without that change. Nothing was \
                 written. Call the tool again."
            );
        }
    }
    if known.admits(old) { Ok(()) } else { Err(SeenPages::changed(name)) }
}

impl NativeTool for StoredWrite {
    fn run(self: Arc<Self>, _: Value, context: Context) -> BoxFuture<'static, Outcome> {
        let work = move |context: &Context| {
            let context = &self.bound(context);
            if self.is_approved_for_another(context) {
                return Outcome::Outdated(UserError::new(ANOTHER_CHANGE));
            }
            let outcome = carry_out(context, || self.proposal(context));
            if matches!(outcome, Outcome::Success(_)) {
                self.note_written(context, &self.changes(context).unwrap_or_default());
            }
            outcome
        };
        blocking(context, work).boxed()
    }

    fn is_proposing(&self) -> bool {
        true
    }

    fn propose(&self, _: &Value, context: &Context) -> Option<Result<Proposal, ModelError>> {
        Some(self.proposal(context))
    }

    fn targets(&self, _: &Value, context: &Context) -> Option<Vec<PathBuf>> {
        let file = |file: &ProposedContent| match file.is_page {
            true => notes::named_file(context, &file.name),
            false => Some(context.resolve(&file.name)),
        };
        self.proposed.files.iter().map(file).collect()
    }

    fn preview(&self, _: &Value, _: usize) -> Option<String> {
        None
    }
}
