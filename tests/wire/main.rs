//! Providers over real sockets, against a scripted server.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/anthropic.rs"]
mod anthropic;
#[path = "../support/completions.rs"]
mod completions;
#[path = "../support/conversation.rs"]
mod conversation;
#[path = "../support/http.rs"]
mod http;
#[path = "../support/responses.rs"]
mod responses;
#[path = "../support/vertex.rs"]
mod vertex;

mod anthropic_http;
mod credentials;
mod openai_http;
mod own_server;
mod resilience;
mod transport;
