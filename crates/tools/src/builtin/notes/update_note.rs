//! `update_note`: replaces, appends or prepends text in a page or a section.

use serde_json::Value;

use super::{super::tool::Proposing, changes, define, space::Space};
use crate::Proposal;
use flemma_model::ModelError;
use flemma_notes::{
    Outline,
    sections::{self, Mode},
};

/// The tool.
pub(super) const TOOL: Proposing = define::changing(|input, context| update(input, &Space::open(context)?));

fn update(input: &Value, space: &Space<'_>) -> Result<Proposal, ModelError> {
    let page = define::page(input, "page")?;
    let text = super::super::text(input, "content")?;
    let (mode, done) = match super::super::optional_text(input, "mode") {
        None | Some("replace") => (Mode::Replace, "Replaced the text of"),
        Some("append") => (Mode::Append, "Appended to"),
        Some("prepend") => (Mode::Prepend, "Prepended to"),
        Some(other) => {
            return Err(ModelError::new(format!("`mode` must be replace, append or prepend, not \"{other}\".")));
        }
    };
    if text.is_empty() && mode != Mode::Replace {
        return Err(ModelError::new("`content` is empty: there is nothing to add."));
    }
    let section = define::section(input)?;
    let old = space.read(&page)?;
    let (new, what) = match section {
        None => (sections::update_page(&old, text, mode), format!("`{page}`")),
        Some((heading, occurrence)) => {
            let outline = Outline::new(&old);
            let found = sections::find(&outline, heading, occurrence)?;
            if found.of > 1 && occurrence.is_none() {
                return Err(ModelError::new(format!(
                    "`{page}` has {} sections \"{heading}\". Nothing was changed. Choose one with `occurrence`, from 1.",
                    found.of
                )));
            }
            let new = sections::update_section(&old, found.section, text, mode);
            (new, format!("the section \"{}\" of `{page}`", found.section.title))
        }
    };
    changes::of_one(space, &page, old, new, format!("{done} {what}."))
}
