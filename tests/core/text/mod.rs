//! Plain text.

mod bounds;
mod hunk_rows;
mod truncate;
