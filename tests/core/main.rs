//! Tests of the core: no editor, no network.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod agent;
#[path = "../support/anthropic.rs"]
mod anthropic;
mod bounds;
mod cli;
#[path = "../support/completions.rs"]
mod completions;
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
#[path = "../support/other_holder.rs"]
mod other_holder;
mod provider;
#[path = "../support/providers.rs"]
mod providers;
#[path = "../support/responses.rs"]
mod responses;
#[path = "../support/said.rs"]
mod said;
mod usage;
#[path = "../support/vault.rs"]
mod vault;
#[path = "../support/vertex.rs"]
mod vertex;
#[path = "../support/workshop.rs"]
mod workshop;
mod workspace;
