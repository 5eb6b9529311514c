//! Providers: what is sent to each of them, and what is made of their replies.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "../../../../tests/support/anthropic.rs"]
mod anthropic;
mod anthropic_decode;
mod anthropic_encode;
mod anthropic_errors;
mod auth;
mod call_ids;
mod catalogue;
mod compatible_decode;
mod compatible_encode;
mod compatible_errors;
#[path = "../../../../tests/support/completions.rs"]
mod completions;
#[path = "../../../../tests/support/conversation.rs"]
mod conversation;
mod errors;
mod foreign;
mod no_stream;
mod openai_decode;
mod openai_encode;
mod openai_errors;
#[path = "../../../../tests/support/plain.rs"]
mod plain;
mod prefixes;
#[path = "../../../../tests/support/providers.rs"]
mod providers;
mod redact;
mod refusals;
mod registry;
mod rehearsal;
mod replies;
mod reply_limit;
#[path = "../../../../tests/support/responses.rs"]
mod responses;
mod retry;
mod scripts;
mod shapes;
mod snapshots;
mod sse;
mod vendor;
#[path = "../../../../tests/support/vertex.rs"]
mod vertex;
mod vertex_decode;
mod vertex_encode;
mod vertex_errors;
mod vertex_schema;
mod xml_tools;
