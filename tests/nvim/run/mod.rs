//! `flemma run`, with a Neovim of the user's and their configuration.

mod configurations;
mod desktop;
mod endings;
mod fleet;
mod interruptions;
mod page;
mod races;
mod waiting;
