//! Tests of the core: no editor, no network.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod agent;
#[path = "../support/anthropic.rs"]
mod anthropic;
mod attachments;
mod chat;
mod circles;
#[path = "../support/completions.rs"]
mod completions;
mod config;
mod config_buffer;
mod config_list;
mod config_own;
mod config_switch;
#[path = "../support/conversation.rs"]
mod conversation;
mod layers;
mod lua_pattern;
mod provenance;
mod provider_anthropic_decode;
mod provider_anthropic_encode;
mod provider_anthropic_refuse;
mod provider_auth;
mod provider_bodies;
mod provider_bounds;
mod provider_catalogue;
mod provider_compatible_decode;
mod provider_compatible_encode;
mod provider_compatible_refuse;
mod provider_foreign;
mod provider_hosted;
mod provider_ids;
mod provider_no_stream;
mod provider_openai_decode;
mod provider_openai_encode;
mod provider_openai_refuse;
mod provider_prefixes;
mod provider_redact;
mod provider_rehearsal;
mod provider_retry;
mod provider_scripts;
mod provider_snapshots;
mod provider_sse;
mod provider_vertex_decode;
mod provider_vertex_encode;
mod provider_vertex_refuse;
mod provider_vertex_schema;
#[path = "../support/responses.rs"]
mod responses;
mod rules;
mod runtime_queue;
mod runtime_save;
mod runtime_trust;
mod source;
mod tools_approval;
mod tools_bash;
mod tools_calculator;
mod tools_decisions;
mod tools_definition;
mod tools_files;
mod tools_inputs;
mod tools_preview;
mod tools_project;
mod tools_reading;
mod tools_search;
mod tools_truncate;
mod tools_workshop;
mod usage;
#[path = "../support/vertex.rs"]
mod vertex;
