//! Notes: the structure of pages, and new content from old content.

mod frontmatter;
mod links;
mod outline;
mod rename;
mod search;
mod sections;
