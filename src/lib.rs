//! Flemma: an agent workspace inside Neovim.
//!
//! A conversation with a model is a plain `.chat` file. This crate holds the document, the
//! conversation's state machine, the tools and the providers; a small Lua shim holds the keymaps
//! and draws. Data flows one way: key -> shim -> `nvim` -> [`agent`] -> effects -> [`runtime`] ->
//! queue -> `nvim` -> [`agent`] -> edits -> buffer.
//!
//! | module          | what lives there                                                    |
//! |-----------------|---------------------------------------------------------------------|
//! | `nvim`          | the only code that knows Neovim (feature `nvim`)                    |
//! | `cli`           | the command line, `flemma` (feature `cli`)                          |
//! | [`runtime`]     | tokio: sockets, timers, and the queue to the main thread            |
//! | [`agent`]       | the turn as a pure state machine                                    |
//! | [`tools`]       | definitions, registry, approval, previews, built-in tools           |
//! | [`compat`]      | what tools need that were written for another plugin                |
//! | [`process`]     | child processes: starting, capturing and ending them                |
//! | [`chat`]        | the document: parse, render, minimal edits, escaping                |
//! | [`config`]      | typed options with their defaults                                   |
//! | [`changes`]     | what tools have changed in files, and how that is taken back        |
//! | [`journal`]     | what is recorded about tool calls, and what follows from it         |
//! | [`usage`]       | tokens and money: sums, estimates, and how they are written         |
//! | [`provider`]    | provider-neutral requests; a folder for each vendor                 |
//! | [`options`]     | reading typed options out of untyped ones                           |
//! | [`model`]       | what a conversation is made of: messages, calls, events, files      |
//! | [`notes`]       | a folder of Markdown pages: structure, links, new content from old  |
//! | [`xml`]         | XML as models write it: reading and writing elements                 |
//! | [`text`]        | plain text: fences, truncation, one line, "did you mean"            |
//!
//! A module imports only from modules below it. `ARCHITECTURE.md` has the table of who may import from whom, and
//! `tests/core/layers.rs` checks it.
//!
//! Everything but `process`, `runtime`, `nvim` and the built-in tools is plain values and functions: no editor, no clock,
//! no socket.

pub mod agent;
pub mod changes;
pub mod chat;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compat;
pub mod config;
pub mod journal;
pub mod model;
pub mod notes;
#[cfg(feature = "nvim")]
mod nvim;
pub mod options;
pub mod process;
pub mod provider;
pub mod runtime;
pub mod text;
pub mod tools;
pub mod usage;
pub mod workspace;
pub mod xml;

/// The version of this library. The Lua side compares it with its own before it uses the library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
