//! The built-in tools: their definitions in `definitions.json`, and one file for each that runs here.
//!
//! Every tool has a strict schema: all properties are required, optional ones may be null, and no others are accepted. Every
//! tool that runs here, except the calculators, and `ask_user` accept a `label`, in which the model says what the call is for. Only the
//! preview shows it.
//! The tools that only read (`grep`, `find`, `ls`, `skill`) declare that they need no approval.

mod bash;
mod calculator;
mod carry_out;
mod deadline;
mod define;
mod edit;
mod files;
mod find;
mod folder;
mod grep;
mod guard;
mod input;
mod ls;
mod nearest;
mod notes;
mod read;
mod readable;
mod replace;
mod report;
mod skill;
mod stored_write;
mod tool;
mod walk;
mod write;
mod written;

use self::{
    input::{count, limit, optional_text, path, switch, text},
    report::line_range,
};

pub use define::all;
pub use files::missing_file;
pub use find::{FilesToPick, files_to_pick};
pub use notes::{NOTES_TOOLS, PageRequest, answer_page_request, locate_section, page_file, patch_frontmatter};
pub use read::{ShownFile, shown_data, shown_file};
pub use readable::{ForeignFiles, Readable, Unread};
pub use replace::WriteTarget;
pub use stored_write::StoredWrite;
pub use written::PartTaken;
