//! The document, by its public surface.

mod calls;
mod costs;
mod diagnostics;
mod edits;
mod frontmatter_edit;
mod incremental;
pub mod notation;
mod passages;
mod reading;
mod references;
mod replies;
mod roundtrip;
