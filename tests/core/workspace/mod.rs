//! The application without an editor: a text, what the user presses and answers, and what the screen then shows.

#[allow(dead_code, reason = "the harness offers more than the first tests use")]
mod harness;
#[allow(dead_code, reason = "as above")]
mod host;
#[allow(dead_code, reason = "as above")]
mod scripts;

mod files;
mod gate;
mod holding;
mod trust;
