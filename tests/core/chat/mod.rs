//! The document, by its public surface.

mod amend;
mod calls;
mod diagnostics;
mod edits;
mod incremental;
pub mod notation;
mod passages;
mod reading;
mod references;
mod replies;
mod roundtrip;
