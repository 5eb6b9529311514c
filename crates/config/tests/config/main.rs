//! Options: how they are read, layered and switched.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod buffer;
mod documentation;
mod list;
mod options;
mod own;
mod switch;
mod tools;
