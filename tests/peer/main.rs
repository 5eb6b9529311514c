//! Conversations with an independent peer: a real Neovim on our side, `@copilotkit/aimock` on the other.
//!
//! The scripted servers of the other tests behave as we understand the vendors. This one was written by others for other
//! clients, so it does not share our misreadings of a protocol. `make test-peer` installs it and runs these tests; by hand
//! it is `FLEMMA_PEER=…/llmock FLEMMA_NVIM=…/nvim cargo test --test peer`, after `make build`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here is meant to say so at once")]

mod aimock;
mod chaos;
mod conversations;
mod editor;
#[allow(dead_code, reason = "not every binary that drives an editor needs every way to do it")]
#[path = "../support/nvim.rs"]
mod support;

/// A test of its own for each protocol.
macro_rules! for_every_protocol {
    ($($test:ident)*) => {
        for_every_protocol!(@ anthropic ANTHROPIC $($test)*);
        for_every_protocol!(@ openai OPENAI $($test)*);
        for_every_protocol!(@ openai_compatible COMPATIBLE $($test)*);
        for_every_protocol!(@ vertex VERTEX $($test)*);
    };
    (@ $name:ident $protocol:ident $($test:ident)*) => {
        mod $name {
            $(
                #[test]
                fn $test() {
                    super::$test(&crate::editor::$protocol);
                }
            )*
        }
    };
}
use for_every_protocol;
