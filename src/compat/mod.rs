//! What tools need that were written for another plugin.
//!
//! [`fill_words`] and [`fill_script`] fill values into commands.

mod context;
mod nested;
mod template;

pub use template::{Filled, fill_arguments, fill_script, fill_words};
