//! Flemma: an agent workspace inside Neovim.
//!
//! This is the library that Neovim loads: the bindings of the application (`flemma_workspace`) to Neovim and to the Lua shim,
//! which has the keymaps and draws. The layers below are crates of their own, in `crates/`; `ARCHITECTURE.md` has a table of
//! them. Data flows one way: key, shim, `nvim`, `flemma_agent`, effects, `flemma_runtime`, queue, `nvim`, `flemma_agent`,
//! edits, buffer.

#[cfg(feature = "nvim")]
mod nvim;

/// The version of this library. The Lua side compares it with its own before it uses the library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
