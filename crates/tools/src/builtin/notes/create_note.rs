//! `create_note`: creates a page.

use serde_json::Value;

use super::{super::tool::Proposing, changes, define, space::Space};
use crate::Proposal;
use flemma_model::ModelError;
use flemma_text::truncate::count_lines;

/// The tool.
pub(super) const TOOL: Proposing = define::changing(|input, context| create(input, &Space::open(context)?));

fn create(input: &Value, space: &Space<'_>) -> Result<Proposal, ModelError> {
    let page = define::page(input, "page")?;
    page.check_new()?;
    let mut new = super::super::text(input, "content")?.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    if space.is_taken(&page)? {
        return Err(ModelError::new(format!("There is already a page `{page}`. Change it with update_note.")));
    }
    let size = format!("{} bytes, {}", new.len(), super::super::lines(count_lines(new.as_bytes())));
    let summary = format!("Created `{page}`: {size}.");
    let change = changes::change(space, &page, None, new.into_bytes(), None)?;
    Ok(Proposal { files: vec![change], summary, diff: String::new() })
}
