//! Writing what a tool has proposed while it ran: contents that were kept until the user has decided.

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{carry_out::carry_out, notes, replace::WriteTarget, written};
use crate::{
    journal::{Before, Binding, BoundFile, Proposed, ProposedContent, Take},
    model::{Digest, ModelError},
    notes::PageName,
    tools::{Approved, Bounds, Content, Context, FileChange, KeptContent, NativeTool, Outcome, Proposal},
};

/// Writes what a call has proposed while it ran. It is what is left of the call: the input is not looked at.
///
/// Every name is judged again when it is proposed and when it is written, as in a call of `write` or of the tools for notes.
#[derive(Clone)]
pub struct StoredWrite {
    proposed: Proposed,
    contents: KeptContent,
}

impl fmt::Debug for StoredWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredWrite").field("proposed", &self.proposed).finish_non_exhaustive()
    }
}

impl StoredWrite {
    /// Writes this, with these contents.
    #[must_use]
    pub fn new(proposed: Proposed, contents: KeptContent) -> Self {
        Self { proposed, contents }
    }

    /// What would be written now.
    ///
    /// # Errors
    /// If a file must not be read or written, or a content is not kept any more.
    pub fn proposal(&self, context: &Context) -> Result<Proposal, ModelError> {
        let files: Result<Vec<FileChange>, ModelError> =
            self.proposed.files.iter().map(|file| self.change(file, context)).collect();
        let files = files?;
        let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.name)).collect();
        // What the model may not read, it is not shown here either.
        let diffs = files.iter().filter(|file| !context.denied.contains(&file.path)).map(|file| {
            let bytes = |content: &Option<Content>| content.as_ref().and_then(|content| content.bytes.clone());
            written::diff(&bytes(&file.old).unwrap_or_default(), &bytes(&file.new).unwrap_or_default())
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
            let changes = self.proposal(&context).map(|proposal| proposal.files).unwrap_or_default();
            let files = self.proposed.files.iter().zip(&changes).map(|(file, change)| {
                let old = if let Before::Content(digest) = &file.before { Some(digest.clone()) } else { None };
                let path = change.path.to_string_lossy().into_owned();
                let new = Some(file.content.clone());
                BoundFile { path, old, on_disk: Before::Unknown, new, take: Take::Proposed }
            });
            // No proposal has this revision: the files are compared.
            let binding = Binding { revision: String::new(), files: files.collect() };
            context.approved =
                Some(Arc::new(Approved { binding, contents: Arc::clone(&self.contents), first: BTreeMap::new() }));
        }
        context
    }

    /// The run that wrote pages knows their new contents.
    fn note_written(&self, context: &Context) {
        for file in self.proposed.files.iter().filter(|file| file.is_page) {
            let content = Digest::parse(&file.content).and_then(|digest| (self.contents)(&digest));
            if let (Ok(page), Some(content)) = (PageName::parse(&file.name), content) {
                context.seen.note(page.as_str(), Some(&content));
            }
        }
    }

    fn change(&self, file: &ProposedContent, context: &Context) -> Result<FileChange, ModelError> {
        let ProposedContent { name, is_page, content, .. } = file;
        let (path, bounds) = match is_page {
            true => notes::file_of_page(context, name)?,
            false => (context.resolve(name), Bounds::Writable),
        };
        let target = WriteTarget::new(&path, name, context, &bounds)?;
        let old = target.content(name)?;
        if *is_page {
            context.seen.check(PageName::parse(name)?.as_str(), old.as_ref())?;
        }
        let kept = Digest::parse(content).and_then(|digest| (self.contents)(&digest));
        let Some(kept) = kept else {
            return Err(ModelError::new(format!(
                "{name}: what the call wanted to write is not kept any more. Nothing was written. Call the tool again."
            )));
        };
        Ok(target.change(name, old, Content::new(kept)))
    }
}

impl NativeTool for StoredWrite {
    fn run(self: Arc<Self>, _: Value, context: Context) -> BoxFuture<'static, Outcome> {
        let work = move |context: &Context| {
            let outcome = carry_out(&self.bound(context), || self.proposal(context));
            if matches!(outcome, Outcome::Success(_)) {
                self.note_written(context);
            }
            outcome
        };
        super::looking(context, work).boxed()
    }

    fn is_proposing(&self) -> bool {
        true
    }

    fn propose(&self, _: &Value, context: &Context) -> Option<Result<Proposal, ModelError>> {
        Some(self.proposal(context))
    }

    fn preview(&self, _: &Value, _: usize) -> Option<String> {
        None
    }
}
