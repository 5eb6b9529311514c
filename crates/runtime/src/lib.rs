//! The imperative shell that knows no editor: tokio tasks that own sockets and timers, and start commands.
//!
//! Nothing here touches a conversation. A task does its work and leaves [`Notice`]s in the one
//! [`Queue`], whose waker brings Neovim's main thread to [`Queue::drain`]. Wake-ups coalesce, so a
//! drain takes what is there, up to a bound, and says whether more is left.

mod attachments;
pub mod backups;
pub mod conversation_folder;
mod conversation_list;
mod credentials;
mod disk;
mod external_paths;
mod file_lines;
mod folder;
mod git_diff;
pub mod holder;
pub mod http;
mod journal;
mod line_file;
mod lock_file;
mod log;
mod message_notes;
mod outbox;
mod outputs;
mod queue;
pub mod save;
mod spending;
pub mod trust;
mod worker;

pub use attachments::{Attachments, Findings, SkippedFile};
pub use conversation_list::{Conversations, ListedConversation, MOST_LISTED};
pub use credentials::Credentials;
pub use disk::write_new;
pub use external_paths::{ExternalFile, external_paths};
pub use file_lines::{FileLines, is_there};
pub use folder::{FolderEntries, FolderEntry, FolderQuery, Folders};
pub use git_diff::{ChangedFile, GitDiff, git_diff};
pub use journal::{COMPACT_ABOVE, Journal};
pub use line_file::Fence;
pub use lock_file::{LockFile, Owner, Refusal, Taken};
pub use log::Log;
pub use message_notes::{MessageNotes, Reached, SHORTEN_ABOVE};
pub use outbox::{KeptMessage, OutboxContent, OutboxFiles};
pub use outputs::Outputs;
pub use queue::{ConversationId, NextDrain, Notice, PAUSE, Queue};
pub use spending::Spending;
pub use worker::{Build, OnUpdate, Recipient, RequestUpdate, Sent, Worker, blocking};
