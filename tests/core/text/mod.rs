//! Plain text.

mod truncate;
