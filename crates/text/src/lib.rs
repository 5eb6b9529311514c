//! Plain text: quoting, shortening and comparing it.
//!
//! - [`Fence`] and `code_span` put arbitrary text into Markdown so that nothing inside can end it.
//! - [`truncate`] cuts a long text to whole lines, `one_line` shortens it for a message, `escape_controls` keeps a name
//!   on one line.
//! - `diff` compares two texts, and [`unified`] writes what differs as a unified diff. [`hunks`] finds
//!   out what has become of proposed changes.
//! - [`ansi`] reads the colours in the output of commands, and removes its escape sequences.
//! - [`bounds`] says which text may go to a parser that recurses, and `checking` which value may be checked by a schema.
//! - [`suggest`] finds the word that was probably meant by a misspelled one.
//!
//! This module imports nothing from the rest of the crate.

pub mod ansi;
pub mod bounds;
mod checking;
pub mod code_span;
pub mod diff;
pub mod diff_line;
mod fence;
pub mod hunk_lines;
pub mod hunk_places;
pub mod hunk_rows;
pub mod hunks;
pub mod line_breaks;
mod one_line;
pub mod suggest;
pub mod truncate;
pub mod unified;
pub mod visible;
pub mod wrap;
pub mod xml;

pub use checking::is_quickly_checked;
pub use fence::Fence;
pub use one_line::{escape_controls, one_line, things};
