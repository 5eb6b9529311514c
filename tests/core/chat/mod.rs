//! The document, by its public surface.

mod calls;
mod captures;
mod cards;
mod costs;
mod diagnostics;
mod edits;
mod folds;
mod frontmatter_edit;
mod glance;
mod incremental;
mod mentions;
pub mod notation;
mod provenance;
mod reading;
mod references;
mod regions;
mod replies;
mod roundtrip;
mod tail;
mod text_copy;
