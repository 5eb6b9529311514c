//! The application without an editor: a text, what the user presses and answers, and what the screen then shows.

mod harness;
mod host;
mod keys;
mod replies;
mod scripts;
mod tools;
mod typing;

mod accounting;
mod agents;
mod approval;
mod captures;
mod completion;
mod declared;
mod dispatch;
mod file_layout;
mod files;
mod frontmatter;
mod gate;
mod holding;
mod offered;
mod outbox;
mod recovery;
mod rejection;
mod reopening;
mod retention;
mod review;
mod saving;
mod status_view;
mod strangers;
mod suspended;
mod switching;
mod trust;
mod unread;
mod unseen;
mod waiting_writes;
