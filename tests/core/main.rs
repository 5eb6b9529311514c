//! Tests of the core: no editor, no network.

mod config;
