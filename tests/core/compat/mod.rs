//! What tools need that were written for another plugin.

mod example;
mod template;
