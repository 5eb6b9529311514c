//! `flemma run`, with a Neovim of the user's and their configuration.

mod desktop;
mod endings;
mod interruptions;
mod waiting;
