//! Notes: the structure of pages, and new content from old content.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod frontmatter;
mod links;
mod outline;
mod rename;
mod search;
mod sections;
#[path = "../../../../tests/support/vault.rs"]
mod vault;
