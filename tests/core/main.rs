//! Tests of the core: no editor, no network.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod agent;
#[path = "../support/anthropic.rs"]
mod anthropic;
mod bounds;
mod cli;
mod compat;
#[path = "../support/completions.rs"]
mod completions;
mod config;
#[path = "../support/conversation.rs"]
mod conversation;
mod errors;
mod exports;
mod guides;
#[path = "../support/http.rs"]
mod http;
#[allow(dead_code)]
#[path = "../support/notation.rs"]
mod notation;
mod other_holder;
mod provider;
#[path = "../support/responses.rs"]
mod responses;
mod runtime;
#[path = "../support/said.rs"]
mod said;
mod tools;
mod usage;
#[path = "../support/vault.rs"]
mod vault;
#[path = "../support/vertex.rs"]
mod vertex;
mod workspace;
