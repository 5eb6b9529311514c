//! (placeholder)

pub mod http;
pub mod process;
