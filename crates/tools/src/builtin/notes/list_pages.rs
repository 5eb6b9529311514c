//! `list_pages`: lists the pages in a folder.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{super::report, define, space::Space};
use crate::{Context, Definition, NativeTool, Outcome, PathKind, preview};
use flemma_model::ModelError;
use flemma_text::escape_controls;

/// The default for the number of names that are shown.
const USUAL_LIMIT: usize = 500;

/// The maximum number of names that a call can ask for.
const MAX_LIMIT: usize = 100_000;

struct ListPages;

pub(super) fn definition() -> Definition {
    let mut definition = define::reading(
        "list_pages",
        "List the pages of the user's notes: one name per line, sorted. Without recursion, folders end in /.",
        json!({
            "path": { "type": ["string", "null"], "description": "The folder whose pages are listed; null for all notes." },
            "recursive": {
                "type": ["boolean", "null"],
                "description": "Whether to list the pages in the folders below as well; null for true.",
            },
            "limit": { "type": ["integer", "null"], "description": "How many names to show; null for 500." },
        }),
        ("path", PathKind::PageFolder),
        ListPages,
    );
    definition.leaves_out_denied = true;
    definition
}

impl NativeTool for ListPages {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        define::look(context, move |space| list(&input, space))
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let path = super::super::optional_text(input, "path").unwrap_or("all notes");
        Some(preview::labelled(path.to_owned(), input))
    }
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
