//! What the inputs of the tools for notes share.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    super::{count, optional_text, text},
    space::named_file,
};
use crate::Context;
use flemma_model::ModelError;
use flemma_notes::PageName;

/// The targets of a call that changes only the page in `page`.
pub(super) fn own_page(input: &Value, context: &Context) -> Option<Vec<PathBuf>> {
    named_file(context, input.get("page")?.as_str()?).map(|file| vec![file])
}

/// The page that a call names in `property`.
pub(super) fn page(input: &Value, property: &str) -> Result<PageName, ModelError> {
    PageName::parse(text(input, property)?)
}

/// A count from 1 that may be null.
pub(super) fn occurrence(input: &Value) -> Result<Option<usize>, ModelError> {
    match count(input, "occurrence")? {
        Some(0) => Err(ModelError::new("`occurrence` must be at least 1.")),
        found => Ok(found.map(|found| usize::try_from(found).unwrap_or(usize::MAX))),
    }
}

/// The section that a call names, and which of those with this heading; `None` for the whole page.
pub(super) fn section(input: &Value) -> Result<Option<(&str, Option<usize>)>, ModelError> {
    match (optional_text(input, "section"), occurrence(input)?) {
        (None, Some(_)) => {
            Err(ModelError::new("`occurrence` only goes with `section`: give the heading of the section."))
        }
        (heading, occurrence) => Ok(heading.map(|heading| (heading, occurrence))),
    }
}

/// The preview of a call: its page, and a section if there is one.
pub(super) fn page_and_section(input: &Value) -> Option<String> {
    let page = input.get("page")?.as_str()?;
    let section = optional_text(input, "section").map(|section| section.trim_start_matches(['#', ' ']));
    Some(section.map_or_else(|| page.to_owned(), |section| format!("{page} # {section}")))
}
