//! Providers over real sockets, against a scripted server.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/anthropic.rs"]
mod anthropic;
#[path = "../support/http.rs"]
mod http;

mod anthropic_http;
