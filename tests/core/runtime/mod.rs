//! Background work: the queue to the main thread, the journal, saving, trust and attachments.

mod attachments;
mod backups;
mod conversation_list;
mod folder;
mod holder;
mod journal;
mod message_notes;
mod queue;
mod save;
mod steal;
mod trust;
