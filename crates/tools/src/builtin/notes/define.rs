//! Definitions of tools for notes, and what their inputs share.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{
    super::{blocking, define},
    changes,
    space::{Space, named_file},
};
use crate::{Context, DeclaredApproval, Definition, NativeTool, Outcome, PathKind, Proposal, preview};
use flemma_model::ModelError;
use flemma_notes::PageName;

/// A tool that only reads the page or folder in `path`.
pub(super) fn reading(
    name: &str,
    description: &str,
    properties: Value,
    path: (&str, PathKind),
    tool: impl NativeTool + 'static,
) -> Definition {
    let mut definition = super::super::harmless(define::define(name, description, properties, tool));
    definition.enabled = false;
    definition.read_path_param = Some(path.0.into());
    definition.path_kind = path.1;
    definition
}

/// What a tool does that changes pages.
#[derive(Clone, Copy)]
pub(super) struct Writing {
    /// The changes that a call makes.
    pub(super) propose: fn(&Value, &Space<'_>) -> Result<Proposal, ModelError>,
    /// The preview of a call.
    pub(super) preview: fn(&Value) -> Option<String>,
    /// The files that a call may write, by its input alone; `None` if it may be any page.
    pub(super) targets: fn(&Value, &Context) -> Option<Vec<PathBuf>>,
}

/// The targets of a call that changes only the page in `page`.
pub(super) fn own_page(input: &Value, context: &Context) -> Option<Vec<PathBuf>> {
    named_file(context, input.get("page")?.as_str()?).map(|file| vec![file])
}

impl NativeTool for Writing {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        look(context, move |space| Ok(changes::carry_out(space, || (self.propose)(&input, space))))
    }

    fn is_proposing(&self) -> bool {
        true
    }

    fn propose(&self, input: &Value, context: &Context) -> Option<Result<Proposal, ModelError>> {
        Some(Space::open(context).and_then(|space| (self.propose)(input, &space)))
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        (self.preview)(input)
    }

    fn targets(&self, input: &Value, context: &Context) -> Option<Vec<PathBuf>> {
        (self.targets)(input, context)
    }
}

/// A tool that changes the page in `page`.
pub(super) fn writing(name: &str, description: &str, properties: Value, tool: Writing) -> Definition {
    let mut definition = define::define(name, description, properties, tool);
    definition.enabled = false;
    definition.approval = Some(DeclaredApproval::RequiresApproval);
    definition.path_kind = PathKind::Page;
    definition.read_path_param = Some("page".into());
    definition.write_path_param = Some("page".into());
    definition
}

/// Runs a tool that reads.
pub(super) fn look(
    context: Context,
    work: impl FnOnce(&Space<'_>) -> Result<Outcome, ModelError> + Send + 'static,
) -> BoxFuture<'static, Outcome> {
    let work = move |context: &Context| match Space::open(context).and_then(|space| work(&space)) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::failure(error),
    };
    blocking::searching(context, work).boxed()
}

/// The page that a call names in `property`.
pub(super) fn page(input: &Value, property: &str) -> Result<PageName, ModelError> {
    PageName::parse(super::super::text(input, property)?)
}

/// A count from 1 that may be null.
pub(super) fn occurrence(input: &Value) -> Result<Option<usize>, ModelError> {
    match super::super::count(input, "occurrence")? {
        Some(0) => Err(ModelError::new("`occurrence` must be at least 1.")),
        found => Ok(found.map(|found| usize::try_from(found).unwrap_or(usize::MAX))),
    }
}

/// The section that a call names, and which of those with this heading; `None` for the whole page.
pub(super) fn section(input: &Value) -> Result<Option<(&str, Option<usize>)>, ModelError> {
    match (super::super::optional_text(input, "section"), occurrence(input)?) {
        (None, Some(_)) => {
            Err(ModelError::new("`occurrence` only goes with `section`: give the heading of the section."))
        }
        (heading, occurrence) => Ok(heading.map(|heading| (heading, occurrence))),
    }
}

/// The preview of a call: its page, and a section if there is one.
pub(super) fn preview(input: &Value) -> Option<String> {
    let page = input.get("page")?.as_str()?;
    let section = super::super::optional_text(input, "section");
    let words = section
        .map_or_else(|| page.to_owned(), |section| format!("{page} # {}", section.trim_start_matches(['#', ' '])));
    Some(preview::labelled(words, input))
}
