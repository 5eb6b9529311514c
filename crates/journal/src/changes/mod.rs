//! What tools have changed in files: which file, by which call, and what it was before and after.
//!
//! A [`Change`] is one change of one file. It names the content before and after by [`FileState`]: by digest and mode, never by
//! the bytes. A [`Line`] is the line of the log about it. [`History`] is what the log of a conversation says: which changes
//! were made, which of them stand, and what taking some of them back would do, file by file ([`Step`]).
//!
//! A change is logged before it is made (`Line::Change`), and again afterwards (`Line::Made`). If the process was killed in
//! between, the history finds out what happened: from what the next change of the file found there, or from the file itself
//! ([`History::settle`]).
//!
//! These are plain values. `runtime::backups` keeps the log and the contents.

mod change;
mod history;
mod line;

pub use change::{Act, Cause, Change, ChangeId, FileState, Step};
pub use history::{History, Wanted};
pub use line::Line;
