//! Background work: the queue to the main thread, the journal, saving, trust and attachments.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod attachments;
mod backups;
mod conversation_list;
mod folder;
mod holder;
mod journal;
mod message_notes;
#[path = "../../../../tests/support/other_holder.rs"]
mod other_holder;
mod queue;
mod save;
mod steal;
mod trust;
#[path = "../../../../tests/support/vault.rs"]
mod vault;
#[path = "../../../../tests/support/workshop.rs"]
mod workshop;
