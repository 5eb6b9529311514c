//! Plain text: what every layer needs to quote, shorten and compare it.
//!
//! - [`Fence`] and `code_span` put foreign text into Markdown so that nothing inside can end it.
//! - [`truncate`] cuts a long text to whole lines, `one_line` shortens one to fit a message,
//!   `escape_controls` keeps a name on one line.
//! - [`suggest`] finds the word that a misspelled one was meant to be.
//!
//! Nothing here knows a conversation, and nothing here imports from another module of this crate.

pub(crate) mod code_span;
mod fence;
mod one_line;
pub mod suggest;
pub mod truncate;

pub use fence::Fence;
pub(crate) use one_line::{escape_controls, one_line};
