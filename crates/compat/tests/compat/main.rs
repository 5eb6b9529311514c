//! What tools need that were written for another plugin.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod example;
#[path = "../../../../tests/support/plain.rs"]
mod plain;
mod template;
