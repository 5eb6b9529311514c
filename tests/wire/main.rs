//! Providers over real sockets, against a scripted server.

#[path = "../support/anthropic.rs"]
mod anthropic;
#[path = "../support/http.rs"]
mod http;

mod anthropic_http;
