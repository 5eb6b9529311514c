//! Background work: the queue to the main thread, saving, trust and attachments.

mod attachments;
mod queue;
mod save;
mod trust;
