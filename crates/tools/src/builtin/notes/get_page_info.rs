//! `get_page_info`: what is known about a page without reading it.

use jiff::Unit;
use serde_json::{Value, json};

use super::{super::tool::Looking, define, meta, space::Space};
use crate::{Outcome, Output};
use flemma_model::ModelError;
use flemma_notes::{Outline, Pages, frontmatter};
use flemma_text::truncate::count_lines;

/// The maximum number of pages and sections in a result.
const MAX_LISTED: usize = 100;

/// The tool.
pub(super) const TOOL: Looking =
    Looking { look: |input, context| info(input, &Space::open(context)?), preview: define::preview };

fn info(input: &Value, space: &Space<'_>) -> Result<Outcome, ModelError> {
    let page = define::page(input, "page")?;
    let (content, metadata) = space.read_with_metadata(&page)?;
    let outline = Outline::new(&content);
    let (values, fault) = match frontmatter::values(&content) {
        Ok(values) => (values, None),
        Err(fault) => (Default::default(), Some(fault.to_string())),
    };
    let tags = meta::tags(&values, &outline);
    let listed = space.list("")?;
    let pages = Pages::new(&listed.pages);
    let below: Vec<&str> = pages.below(&page).collect();
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
        "modified": meta::modified(&metadata, Unit::Second),
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
