//! The document: a conversation as the lines of a `.chat` file.
//!
//! The lines themselves are kept elsewhere ([`Text`]); this module knows what they mean and which ones to change. It
//! has three roles:
//!
//! - **Reading.** [`Document`] is the structure. [`Document::update`] updates it at a cost proportional to the change.
//!   [`Document::calls`] pairs calls with their results, and [`Document::transcript`] is what a request sends. Everything else
//!   that is read from it is a function of its own: [`diagnostics()`], [`decorations`], [`regions()`], [`folds()`], [`cards()`],
//!   [`hidden()`], [`files`], [`Completable::at`], [`Tail::of`].
//! - **Writing.** [`ReplyWriter`] streams a reply to the end of the text. [`insert_placeholders`], [`set_block`], [`write_result`]
//!   and [`open_prompt`] plan edits of existing text. [`render()`] writes a whole conversation.
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
mod decorate;
mod diagnostics;
mod document;
mod edit;
mod editor_reference;
mod escape;
mod file_name;
mod folded;
mod folds;
mod fork;
mod frontmatter_edit;
mod glance;
mod hidden;
mod hosted;
mod instructions;
mod left_out;
mod line_range;
mod line_scan;
mod mention;
mod message_writer;
mod objects;
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
mod tail;
mod text;
mod text_copy;
mod transcript;
mod words;

pub use attachment::attachment_info;
pub use awaiting::{AwaitKind, Awaiting, deadline};
pub use bare_name::{BareName, bare_names};
pub use block::{
    Block, BlockKind, CodeFence, Frontmatter, ParsedMessage, ResultBody, Speaker, ToolFence, ToolResult, ToolUse,
};
pub use blocks::Language;
pub use calls::{Calls, OpenCall, Placeholder};
pub use captured::{Capture, CaptureTarget, Uncaptured, captures_in, uncaptured, write_captures};
pub use cards::{Card, Fate, cards};
pub use completable::{AtWord, Completable};
pub use decorate::{Decoration, LineKind, decorations};
pub use diagnostics::{Diagnostic, Severity, diagnostics, unsent};
pub use document::{Document, Update};
pub use edit::{Position, TextEdit};
pub use editor_reference::{EditorReference, EditorSubject, editor_references};
pub use escape::{escape, unescape};
pub use file_name::{file_name, given_title};
pub use folded::{Folded, folded};
pub use folds::{Begins, Fold, FoldGroup, folds};
pub use fork::forked;
pub use frontmatter_edit::{approve_always, restore_frontmatter};
pub use glance::Glance;
pub use hidden::{Hidden, hidden};
pub use instructions::{captured_instructions, fence_of, lacks_instructions, write_instructions};
pub use left_out::leave_out;
pub use line_range::LineRange;
pub use mention::{Mention, mentioned};
pub use objects::{Extent, Object, Selection, card_object, message_object};
pub use plan::{append_words, count_words, insert_placeholders, open_prompt, set_block, set_status, write_result};
pub use provenance::{Author, Provenance, Reattribution};
pub use reference::{BEGINNINGS, NamedFile, decoded_name, files, reference_name, reference_to};
pub use regions::{Region, heads_of, regions};
pub use render::render;
pub use reply::{Ending, ReplyWriter};
pub use status::{Status, StatusBlock};
pub use tail::{Tail, drop_cut_off, mark_cut_off};
pub use text::{Change, Slice, Text};
pub use text_copy::{Snapshot, TextCopy};
pub use transcript::{Transcript, read};
