//! Notes: a folder of Markdown pages, and what happens to a page's content.
//!
//! A page has a [`PageName`], its path below the folder without `.md`. Its content is a list of bytes: what is not changed
//! stays as it is, with its line breaks, its byte order mark and bytes that are not valid UTF-8.
//!
//! * [`Outline`] is the structure of a page, from a Markdown parser: frontmatter, sections, links, tags.
//! * [`sections`], [`replacing`] and [`frontmatter`] make new content from old content.
//! * [`Pages`] resolves links, and [`rename`] is what becomes of all links when a page gets another name.
//! * [`search`] ranks pages by what is looked for.
//!
//! Everything here is plain values and functions. Nothing reads or writes a file: the tools do that, so that what would
//! be written is known before it is written.

mod content;
mod destination;
pub mod frontmatter;
mod links;
mod outline;
mod page;
mod pages;
pub mod rename;
pub mod replacing;
pub mod search;
pub mod sections;
mod yaml;

pub use links::{Link, LinkKind, Quote};
pub use outline::{Outline, Section};
pub use page::PageName;
pub use pages::Pages;
