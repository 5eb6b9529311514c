//! Providers with the layers above: files that tools show, and tools that providers run.
//! `crates/provider/tests` has the rest.

mod bodies;
mod hosted;
