//! `create_note`: creates a page.

use serde_json::{Value, json};

use super::{changes, define, space::Space};
use crate::{Definition, Proposal};
use flemma_model::ModelError;
use flemma_text::truncate::count_lines;

pub(super) fn definition() -> Definition {
    define::writing(
        "create_note",
        "Create a page in the user's notes, with any missing folders. It fails if the page exists: change it with \
         update_note then.",
        json!({
            "page": { "type": "string", "description": "The new page: its path in the folder of notes, without .md." },
            "content": { "type": "string", "description": "The entire content of the page, in Markdown." },
        }),
        define::Writing { propose: create, preview: define::preview, targets: define::own_page },
    )
}

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
