//! `get_page_info`: what is known about a page without reading it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{define, space::Space};
use crate::{Context, Definition, NativeTool, Outcome, Output, PathKind};
use flemma_model::ModelError;
use flemma_notes::{Outline, Pages, frontmatter};
use flemma_text::truncate::count_lines;

/// The maximum number of pages and sections in a result.
const MAX_LISTED: usize = 100;

struct GetPageInfo;

pub(super) fn definition() -> Definition {
    define::reading(
        "get_page_info",
        "Get what is known about a page of the user's notes without its text: tags, size, when it was modified, the keys \
         of its frontmatter, its sections, and the pages below it.",
        json!({
            "page": { "type": "string", "description": "The page: its path in the folder of notes, without .md." },
        }),
        ("page", PathKind::Page),
        GetPageInfo,
    )
}

impl NativeTool for GetPageInfo {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        define::look(context, move |space| info(&input, space))
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        define::preview(input)
    }
}

fn info(input: &Value, space: &Space<'_>) -> Result<Outcome, ModelError> {
    let page = define::page(input, "page")?;
    let (content, metadata) = space.read_with_metadata(&page)?;
    let outline = Outline::new(&content);
    let (values, fault) = match frontmatter::values(&content) {
        Ok(values) => (values, None),
        Err(fault) => (Default::default(), Some(fault.to_string())),
    };
    let mut tags = frontmatter::tags(&values);
    tags.extend(outline.tags.iter().cloned());
    tags.sort_unstable();
    tags.dedup();
    let listed = space.list("")?;
    let pages = Pages::new(&listed.pages);
    let below: Vec<&str> = pages.below(&page).collect();
    let modified = metadata.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok());
    let modified = modified.and_then(|time| time.round(jiff::Unit::Second).ok());
    let mut notes: Vec<String> = fault.into_iter().collect();
    let mut at_most = |what: &str, count: usize| {
        if count > MAX_LISTED {
            notes.push(format!("Only {MAX_LISTED} of {count} {what} are listed."));
        }
    };
    at_most("subpages", below.len());
    at_most("sections", outline.sections.len());
    let sections = outline.sections.iter().take(MAX_LISTED);
    let sections: Vec<String> =
        sections.map(|section| format!("{} {}", "#".repeat(section.level), section.title)).collect();
    let mut result = json!({
        "page": page.as_str(),
        "size": metadata.len(),
        "lines": count_lines(&content),
        "modified": modified.map(|time| time.to_string()),
        "tags": tags,
        "frontmatter": values.keys().collect::<Vec<_>>(),
        "sections": sections,
        "subpages": below.iter().take(MAX_LISTED).collect::<Vec<_>>(),
    });
    if !notes.is_empty() {
        result["note"] = notes.join(" ").into();
    }
    Ok(Outcome::Success(Output::Json(result)))
}
