//! Tests in a real Neovim. `make test` runs them with one that it finds or installs; by hand it is
//! `FLEMMA_NVIM=/path/to/nvim cargo test --test nvim`, after `make build`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here is meant to say so at once")]

mod accidents;
mod agents;
#[path = "../support/anthropic.rs"]
mod anthropic;
mod approval;
mod approval_delay;
mod attachments;
mod chat;
mod client_calls;
mod client_tools;
mod codecompanion;
mod colours;
mod command_line;
mod completion;
#[path = "../support/completions.rs"]
mod completions;
mod contract;
mod conversations;
mod cursor;
mod deadlines;
mod docs;
mod docs_waiting;
mod durable;
mod editing;
mod editing_rules;
mod editor_context;
mod evaluation;
mod first_contact;
mod folds;
mod forms;
mod frontmatter;
mod frontmatter_trust;
mod harness;
mod hosted;
mod hostile;
#[path = "../support/http.rs"]
mod http;
mod instructions;
mod interrupted_renames;
mod journey;
mod killed;
mod leaving;
mod limits;
mod lock;
mod notes;
mod notify;
mod open_files;
mod overlays;
mod pace;
mod packages;
mod pending;
mod queue;
mod queue_random;
mod recovered;
mod references;
mod registration;
mod releases;
#[path = "../support/responses.rs"]
mod responses;
mod review;
mod rules;
mod run;
#[path = "../support/said.rs"]
mod said;
mod saving;
#[path = "../support/sdk.rs"]
mod sdk;
mod shared;
mod silverbullet;
mod slow_disk;
mod stops;
mod story;
#[allow(dead_code, reason = "not every binary that drives an editor needs every way to do it")]
#[path = "../support/nvim.rs"]
mod support;
mod switching;
mod tools;
mod trouble;
mod trust;
mod undo;
mod usage;
#[path = "../support/vertex.rs"]
mod vertex;
mod ways_back;
mod xml_tools;
