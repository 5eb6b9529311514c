//! (placeholder)

pub mod http;
