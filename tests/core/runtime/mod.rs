//! Background work: the queue to the main thread, the journal, saving, trust and attachments.

mod attachments;
mod journal;
mod queue;
mod save;
mod trust;
