//! The document, by its public surface.

mod amend;
mod calls;
mod costs;
mod diagnostics;
mod edits;
mod incremental;
pub mod notation;
mod passages;
mod reading;
mod references;
mod replies;
mod roundtrip;
