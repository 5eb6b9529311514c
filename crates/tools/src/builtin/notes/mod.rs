//! The tools for notes: a folder of Markdown pages. They are disabled unless `tools.notes.enabled` is set.
//!
//! Those that only read ([`reading`]) declare that they need no approval; those that write ask. A tool that writes first computes all
//! that it would change ([`changing`], [`rename_note`]), and then writes it, if the files are still as they were.

mod changing;
mod eval_lua;
mod reading;
mod rename_note;
mod requests;
mod space;

pub use reading::locate_section;
pub(super) use requests::file_of_page;
pub use requests::{PageRequest, answer_page_request, patch_frontmatter};
pub(super) use space::named_file;
pub use space::page_file;

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use super::{
    count, optional_text, text,
    tool::{Looking, Proposing},
};
use crate::{Context, NativeTool, Proposal};
use flemma_model::ModelError;
use flemma_notes::PageName;

/// The names of all tools for notes.
pub const NOTES_TOOLS: [&str; 11] = [
    "read_note",
    "list_pages",
    "get_page_info",
    "navigate",
    "create_note",
    "update_note",
    "search_replace",
    "update_frontmatter",
    "rename_note",
    "search_notes",
    "eval_lua",
];

/// What runs the calls of the one with this name.
pub(super) fn tool(name: &str) -> Arc<dyn NativeTool> {
    let place = |input: &Value| Some(optional_text(input, "path").unwrap_or("all notes").to_owned());
    let query = |input: &Value| input.get("query")?.as_str().map(str::to_owned);
    match name {
        "create_note" => changing(changing::create),
        "eval_lua" => Arc::new(eval_lua::EvalLua),
        "get_page_info" => Arc::new(Looking { look: reading::info, preview: page_and_section }),
        "list_pages" => Arc::new(Looking { look: reading::list, preview: place }),
        "read_note" => Arc::new(Looking { look: reading::read, preview: page_and_section }),
        "rename_note" => Arc::new(rename_note::TOOL),
        "search_notes" => Arc::new(Looking { look: reading::search, preview: query }),
        "search_replace" => changing(changing::replace),
        "update_frontmatter" => changing(changing::update_frontmatter),
        _ => changing(changing::update),
    }
}

/// A tool that changes the page in `page`.
fn changing(propose: fn(&Value, &Context) -> Result<Proposal, ModelError>) -> Arc<dyn NativeTool> {
    Arc::new(Proposing { propose, preview: page_and_section, targets: own_page })
}

/// The targets of a call that changes only the page in `page`.
fn own_page(input: &Value, context: &Context) -> Option<Vec<PathBuf>> {
    named_file(context, input.get("page")?.as_str()?).map(|file| vec![file])
}

/// The page that a call names in `property`.
fn page(input: &Value, property: &str) -> Result<PageName, ModelError> {
    PageName::parse(text(input, property)?)
}

/// A count from 1 that may be null.
fn occurrence(input: &Value) -> Result<Option<usize>, ModelError> {
    match count(input, "occurrence")? {
        Some(0) => bail!("`occurrence` must be at least 1."),
        found => Ok(found.map(|found| usize::try_from(found).unwrap_or(usize::MAX))),
    }
}

/// The section that a call names, and which of those with this heading; `None` for the whole page.
fn section(input: &Value) -> Result<Option<(&str, Option<usize>)>, ModelError> {
    match (optional_text(input, "section"), occurrence(input)?) {
        (None, Some(_)) => bail!("`occurrence` only goes with `section`: give the heading of the section."),
        (heading, occurrence) => Ok(heading.map(|heading| (heading, occurrence))),
    }
}

/// The preview of a call: its page, and a section if there is one.
fn page_and_section(input: &Value) -> Option<String> {
    let page = input.get("page")?.as_str()?;
    let section = optional_text(input, "section").map(|section| section.trim_start_matches(['#', ' ']));
    Some(section.map_or_else(|| page.to_owned(), |section| format!("{page} # {section}")))
}
