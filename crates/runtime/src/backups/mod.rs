//! What files were before tools changed them, kept in the state directory so that changes can be taken back.
//!
//! The folder has the contents, by their digests (`contents/`), and a log for each conversation (`logs/`), whose lines are
//! [`flemma_journal::changes::Line`]s. A tool changes a file in this order: the old content is written here and flushed, the line about the
//! change is appended and flushed, the file is replaced, and a second line says so. After a kill at any point the file is the
//! old one or the new one, and the log says which or lets [`flemma_journal::changes::History`] find out.
//!
//! [`Backups::propose`] finds out what taking changes back would do, and writes nothing. [`Backups::apply`] does exactly that, or
//! refuses, file by file: what has changed since the user looked is left alone. It changes files as tools do, with a record of
//! its own, so that it can be taken back in turn.
//!
//! Several processes share the folder. Whoever adds a content holds a shared lock until the log names it; whoever deletes old
//! contents ([`Backups::clean`]) holds the exclusive one.

mod clean;
mod contents;
mod log;
mod proposal;
mod recorder;
mod restore;
mod store;

pub use log::LogKey;
pub use proposal::{Proposal, ProposedFile, damaged_lines};
pub use restore::{Permit, Restored};
pub use store::{Backups, FileBefore, Limits};
