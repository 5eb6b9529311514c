//! The cost of Flemma in a real editor, with a screen and a local server, compared with the same work without Flemma.
//!
//! `make bench` runs everything; `cargo bench --bench editor -- stream typing` runs parts.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot continue fails at once")]

#[path = "../../tests/support/anthropic.rs"]
mod anthropic;
mod completion;
#[path = "../support/conversation.rs"]
mod conversation;
mod folds;
#[path = "../../tests/support/http.rs"]
mod http;
mod lab;
mod large;
mod memory;
#[allow(dead_code, reason = "not every binary that drives an editor needs every way to do it")]
#[path = "../../tests/support/nvim.rs"]
mod nvim;
mod opening;
mod pace;
mod rest;
mod rounds;
mod sizes;
mod status;
mod stream;
mod typing;

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-') && argument != "quick").collect();
    let parts: [(&str, fn()); 13] = [
        ("stream", stream::measure),
        ("pace", pace::measure),
        ("streams", pace::measure_many),
        ("rest", rest::measure),
        ("typing", typing::measure),
        ("completion", completion::measure),
        ("rounds", rounds::measure),
        ("status", status::measure),
        ("large", large::measure),
        ("opening", opening::measure),
        ("folds", folds::measure),
        ("memory", memory::measure),
        ("sizes", sizes::measure),
    ];
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|part| part == name) {
            measure();
        }
    }
}
