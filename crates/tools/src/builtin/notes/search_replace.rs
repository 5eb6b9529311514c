//! `search_replace`: replaces text in a page.

use serde_json::Value;

use super::{super::tool::Proposing, changes, define, space::Space};
use crate::Proposal;
use flemma_model::ModelError;
use flemma_notes::replacing::{self, Which};

/// The maximum number of lines that a result names.
const MAX_NAMED: usize = 20;

/// The tool.
pub(super) const TOOL: Proposing = define::changing(|input, context| replace(input, &Space::open(context)?));

fn replace(input: &Value, space: &Space<'_>) -> Result<Proposal, ModelError> {
    let page = define::page(input, "page")?;
    let (search, replace) = (super::super::text(input, "search")?, super::super::text(input, "replace")?);
    let which = match (super::super::optional_text(input, "mode"), define::occurrence(input)?) {
        (Some("nth") | None, Some(nth)) => Which::Nth(nth),
        (Some("nth"), None) => {
            return Err(ModelError::new("`mode` is nth: give `occurrence`, which occurrence to replace, from 1."));
        }
        (Some("first") | None, None) => Which::First,
        (Some("all"), None) => Which::All,
        (Some(mode), Some(_)) => {
            return Err(ModelError::new(format!("`occurrence` does not go with the mode {mode}: set `mode` to nth.")));
        }
        (Some(other), None) => {
            return Err(ModelError::new(format!("`mode` must be first, all or nth, not \"{other}\".")));
        }
    };
    let old = space.read(&page)?;
    let replaced = replacing::replace(&old, search, replace, which)?;
    let named: Vec<String> = replaced.lines.iter().take(MAX_NAMED).map(usize::to_string).collect();
    let more = if replaced.lines.len() > MAX_NAMED { " and more" } else { "" };
    let word = if named.len() == 1 { "line" } else { "lines" };
    let many = match (which, replaced.of) {
        (_, 1) => "the only occurrence".to_owned(),
        (Which::All, of) => format!("all {of} occurrences"),
        (Which::First, of) => format!("the first of {of} occurrences"),
        (Which::Nth(nth), of) => format!("occurrence {nth} of {of}"),
    };
    let summary = format!("Replaced {many} in `{page}`, at {word} {}{more}.", named.join(", "));
    changes::of_one(space, &page, old, replaced.content, summary)
}
