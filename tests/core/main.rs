//! Tests of the core: no editor, no network.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod config;
mod tools_approval;
mod tools_bash;
mod tools_definition;
mod tools_workshop;
