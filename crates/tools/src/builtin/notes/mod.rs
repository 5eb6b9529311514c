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

use crate::Definition;

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

/// All of them.
pub(super) fn all() -> [Definition; 11] {
    [
        read_note::definition(),
        list_pages::definition(),
        get_page_info::definition(),
        navigate::definition(),
        create_note::definition(),
        update_note::definition(),
        search_replace::definition(),
        update_frontmatter::definition(),
        rename_note::definition(),
        search_notes::definition(),
        eval_lua::definition(),
    ]
}
