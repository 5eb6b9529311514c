//! The document: a conversation as the lines of a `.chat` file.
//!
//! The lines themselves are kept elsewhere ([`Text`]); this module knows what they mean and which ones to change. It
//! has three roles:
//!
//! - **Reading.** [`Document`] is the structure. [`Document::update`] updates it at a cost proportional to the change.
//!   It provides [`Document::diagnostics`], [`Document::open_calls`], [`Document::decorations`], [`Document::regions`],
//!   [`Document::folds`], [`Document::completable`], [`Document::cards`], [`Document::hidden`] and, for a request,
//!   [`Document::transcript`].
//! - **Writing.** [`ReplyWriter`] streams a reply to the end of the text. [`insert_placeholders`], [`set_block`], [`write_result`],
//!   [`write_result_with_attachments`] and [`open_prompt`] plan edits of existing text. [`render()`] writes a whole conversation.
//! - **Escaping.** [`escape()`] ensures that text from a model or a tool is never read as structure.
//!
//! This module knows no editor, clock or socket.

mod at_sign;
mod attachment;
mod attributes;
mod awaiting;
mod bare_name;
mod block;
mod blocks;
mod calls;
mod captured;
mod cards;
mod completable;
mod count_words;
mod decorate;
mod diagnostic;
mod diagnostics;
mod document;
mod edit;
mod editor_reference;
mod editor_subject;
mod escape;
mod file_name;
mod folded;
mod folds;
mod frontmatter_edit;
mod glance;
mod hidden;
mod hosted;
mod in_range;
mod line_range;
mod line_scan;
mod mention;
mod message_writer;
mod objects;
mod parse;
mod plan;
mod prose;
mod provenance;
mod read;
mod reference;
mod regions;
mod render;
mod reply;
mod status;
mod syntax;
mod tail;
mod text;
mod text_copy;
mod transcript;
mod uncaptured;
mod unsent;

pub use awaiting::{AwaitKind, Awaiting, deadline};
pub use bare_name::BareName;
pub use block::{
    Block, BlockKind, CodeFence, Frontmatter, InvalidHeader, ParsedMessage, ResultBody, Speaker, ToolFence, ToolResult,
    ToolUse,
};
pub use blocks::Language;
pub use calls::{CallRef, OpenCall, Placeholder, PlaceholderRef};
pub use captured::Capture;
pub use cards::{Card, CardPart, Fate};
pub use completable::{AtWord, Completable};
pub use decorate::{Decoration, LineKind};
pub use diagnostic::{Diagnostic, Severity};
pub use document::{Document, Update};
pub use edit::{Position, TextEdit};
pub use editor_reference::EditorReference;
pub use editor_subject::EditorSubject;
pub use escape::{escape, unescape};
pub use file_name::{file_name, given_title};
pub use folded::Folded;
pub use folds::{Begins, Fold, FoldGroup, FoldKind};
pub use frontmatter_edit::{approve_always, mark_cut_off, restore_frontmatter};
pub use glance::Glance;
pub use hidden::Hidden;
pub use line_range::LineRange;
pub use mention::Mention;
pub use objects::{Extent, Object};
pub use plan::{
    append_words, insert_placeholders, open_prompt, set_block, set_status, write_result, write_result_with_attachments,
};
pub use provenance::{Author, Provenance, Reattribution};
pub use reference::{BEGINNINGS, NamedFile, decoded_name, reference_name, reference_to};
pub use regions::Region;
pub use render::render;
pub use reply::{Ending, ReplyWriter};
pub use status::{Status, StatusBlock};
pub use tail::{Tail, drop_cut_off};
pub use text::{Change, Slice, Text};
pub use text_copy::{Snapshot, TextCopy};
pub use transcript::{Transcript, read};
pub use uncaptured::{CaptureTarget, Uncaptured, write_captures};
