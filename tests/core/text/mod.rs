//! Plain text.

mod hunk_rows;
mod truncate;
