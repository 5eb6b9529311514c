//! `list_pages`: lists the pages in a folder.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{report, tool::Looking},
    space::Space,
};
use crate::Outcome;
use flemma_model::ModelError;
use flemma_text::escape_controls;

/// The default for the number of names that are shown.
const USUAL_LIMIT: usize = 500;

/// The maximum number of names that a call can ask for.
const MAX_LIMIT: usize = 100_000;

/// The tool.
pub(super) const TOOL: Looking = Looking { look: |input, context| list(input, &Space::open(context)?), preview };

fn preview(input: &Value) -> Option<String> {
    Some(super::super::optional_text(input, "path").unwrap_or("all notes").to_owned())
}

fn list(input: &Value, space: &Space<'_>) -> Result<Outcome, ModelError> {
    let folder = super::super::optional_text(input, "path").unwrap_or_default();
    let is_recursive = input.get("recursive").and_then(Value::as_bool).unwrap_or(true);
    let limit = super::super::limit(input, USUAL_LIMIT, MAX_LIMIT)?;
    let listed = space.list(folder)?;
    let start = folder.strip_prefix("./").unwrap_or(folder).trim_end_matches('/');
    let skipped = if matches!(start, "" | ".") { 0 } else { start.len() + 1 };
    let names: BTreeSet<String> = listed
        .pages
        .iter()
        .map(|page| match page.as_str()[skipped..].split_once('/') {
            Some((folder, _)) if !is_recursive => format!("{}{folder}/", &page.as_str()[..skipped]),
            _ => page.as_str().to_owned(),
        })
        .collect();
    let total = names.len();
    let body: String = names.iter().take(limit).map(|name| format!("{}\n", escape_controls(name))).collect();
    let mut notes = listed.notes;
    if total > limit {
        notes.insert(0, format!("{limit} of {total} are shown. Raise `limit`, or choose a `path`"));
    }
    if total == 0 && notes.is_empty() {
        return Ok(Outcome::text("(no pages)"));
    }
    Ok(Outcome::text(report::finish("list_pages", &body, notes, space.context)))
}
