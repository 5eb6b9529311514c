//! The document, by its public surface.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

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
mod instructions;
mod left_out;
mod mentions;
#[allow(dead_code)]
#[path = "../../../../tests/support/notation.rs"]
mod notation;
mod provenance;
mod reading;
mod references;
mod regions;
mod replies;
mod roundtrip;
mod tail;
mod text_copy;
