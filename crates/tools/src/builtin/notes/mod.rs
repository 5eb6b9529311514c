//! The tools for notes: a folder of Markdown pages. They are disabled unless `tools.notes.enabled` is set.
//!
//! Those that only read declare that they need no approval; those that write ask. A tool that writes first computes all that
//! it would change ([`changes`]), and then writes it, if the files are still as they were.

mod changes;
mod create_note;
mod define;
mod earlier_run;
mod eval_lua;
mod get_page_info;
mod list_pages;
mod meta;
mod navigate;
mod read_note;
mod rename_note;
mod requests;
mod search_notes;
mod search_replace;
mod space;
mod update_frontmatter;
mod update_note;

pub use navigate::locate_section;
pub(super) use requests::file_of_page;
pub use requests::{PageRequest, answer_page_request, patch_frontmatter};
pub(super) use space::named_file;
pub use space::page_file;

use std::sync::Arc;

use crate::NativeTool;

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
    match name {
        "create_note" => Arc::new(create_note::TOOL),
        "eval_lua" => Arc::new(eval_lua::EvalLua),
        "get_page_info" => Arc::new(get_page_info::TOOL),
        "list_pages" => Arc::new(list_pages::TOOL),
        "read_note" => Arc::new(read_note::TOOL),
        "rename_note" => Arc::new(rename_note::TOOL),
        "search_notes" => Arc::new(search_notes::TOOL),
        "search_replace" => Arc::new(search_replace::TOOL),
        "update_frontmatter" => Arc::new(update_frontmatter::TOOL),
        _ => Arc::new(update_note::TOOL),
    }
}
