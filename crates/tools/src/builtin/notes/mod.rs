//! The tools for notes: a folder of Markdown pages. They are disabled unless `tools.notes.enabled` is set.
//!
//! Those that only read ([`reading`]) declare that they need no approval; those that write ask. A tool that writes first computes all
//! that it would change ([`changing`], [`rename_note`]), and then writes it, if the files are still as they were.

mod changing;
mod earlier_run;
mod eval_lua;
mod input;
mod reading;
mod rename_note;
mod requests;
mod space;

pub use reading::locate_section;
pub(super) use requests::file_of_page;
pub use requests::{PageRequest, answer_page_request, patch_frontmatter};
pub(super) use space::named_file;
pub use space::page_file;

use std::sync::Arc;

use serde_json::Value;

use super::{
    optional_text,
    tool::{Looking, Proposing},
};
use crate::{Context, NativeTool, Proposal};
use flemma_model::ModelError;

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
        "get_page_info" => Arc::new(Looking { look: reading::info, preview: input::page_and_section }),
        "list_pages" => Arc::new(Looking { look: reading::list, preview: place }),
        "read_note" => Arc::new(Looking { look: reading::read, preview: input::page_and_section }),
        "rename_note" => Arc::new(rename_note::TOOL),
        "search_notes" => Arc::new(Looking { look: reading::search, preview: query }),
        "search_replace" => changing(changing::replace),
        "update_frontmatter" => changing(changing::update_frontmatter),
        _ => changing(changing::update),
    }
}

/// A tool that changes the page in `page`.
fn changing(propose: fn(&Value, &Context) -> Result<Proposal, ModelError>) -> Arc<dyn NativeTool> {
    let (preview, targets) = (input::page_and_section, input::own_page);
    Arc::new(Proposing { propose, preview, targets, line_counts: |_| None })
}
