//! The document, by its public surface.

mod edits;
mod incremental;
mod notation;

mod roundtrip;
