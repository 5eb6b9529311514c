//! Tests in a real Neovim. `make test` runs them with one that it finds or installs; by hand it is
//! `FLEMMA_NVIM=/path/to/nvim cargo test --test nvim`, after `make build`.

mod harness;
#[allow(dead_code, reason = "not every binary that drives an editor needs every way to do it")]
#[path = "../support/nvim.rs"]
mod support;
