//! Plain text.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod hunk_rows;
mod truncate;
