//! What is recorded about tool calls: which call, what happened to it, and who did it.
//!
//! Anybody may have written the words of a `.chat` file, so they authorise nothing. What this user decided, which calls
//! started and how they ended is recorded beside the file, one [`Record`] per event, in the order of the events.
//! [`Record::to_line`] and [`Record::from_line`] are the format. A [`Ledger`] is the state of all calls of a conversation
//! according to its records: whether a call is open, approved, started or ended. [`kept`] says which records a shorter
//! journal still needs.
//!
//! These are plain values. `runtime::Journal` writes and reads the files.

mod binding;
pub mod changes;
mod compaction;
mod ledger;
mod line;
mod proposed;
mod record;

pub use binding::{Binding, BoundFile, Take, Taken};
pub use compaction::kept;
pub use ledger::{Ending, Ledger, Life, Lives};
pub use line::LineError;
pub use proposed::{Before, Proposed, ProposedContent};
pub use record::{Actor, Asked, CallKey, Decision, Event, Record, RecordedFile, RecordedResult, Role};
