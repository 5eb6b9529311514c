//! The document: a conversation as the lines of a `.chat` file.
//!
//! Lines belong to whoever holds the text ([`Text`]); this module knows what they mean and which
//! ones to change. Three roles:
//!
//! - **Reading.** [`Document`] holds the structure, brought up to date by [`Document::update`] at
//!   the cost of the change. From it come [`Document::diagnostics`], [`Document::open_calls`],
//!   [`Document::decorations`], [`Document::regions`] and, for a request, [`Document::conversation`].
//! - **Writing.** [`ReplyWriter`] streams a reply to the end of the text. [`place`], [`set_status`],
//!   [`settle`], [`settle_with`] and [`open_prompt`] plan edits of what stands there. [`render()`] writes it all.
//! - **Keeping apart.** [`escape()`] sees to it that what a model or a tool wrote never reads as
//!   structure.
//!
//! Nothing here knows an editor, a clock or a socket.

mod attachment;
mod attributes;
mod block;
mod blocks;
mod calls;
mod conversation;
mod decorate;
mod diagnostic;
mod diagnostics;
mod document;
mod edit;
mod escape;
mod frontmatter_edit;
mod hosted;
mod line_scan;
mod message_writer;
mod parse;
mod plan;
mod provenance;
mod read;
mod reference;
mod regions;
mod render;
mod reply;
mod status;
mod syntax;
mod text;
mod unsent;

pub use block::{
    Block, BlockKind, CodeFence, Frontmatter, InvalidHeader, ParsedMessage, ResultBody, Speaker, ToolFence, ToolResult,
    ToolUse,
};
pub use blocks::Language;
pub use calls::{CallRef, OpenCall, Placeholder, PlaceholderRef};
pub use conversation::{Conversation, read};
pub use decorate::{Decoration, LineKind};
pub use diagnostic::{Diagnostic, Severity};
pub use document::{Document, Update};
pub use edit::{Position, TextEdit};
pub use escape::{escape, unescape};
pub use frontmatter_edit::{approve_always, mark_cut_off, restore_frontmatter};
pub use plan::{open_prompt, place, set_status, settle, settle_with};
pub use provenance::{Author, Provenance, Reattribution};
pub use reference::NamedFile;
pub use regions::Region;
pub use render::render;
pub use reply::{Ending, ReplyWriter};
pub use status::{Status, StatusBlock};
pub use text::{Change, Text};
