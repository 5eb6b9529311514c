//! Tools: definitions, approval, rules, previews and the built-in tools.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod approval;
mod bash;
mod calculator;
mod cancelled;
mod command;
mod decisions;
mod definition;
mod file_class;
mod files;
mod form;
mod ignore_files;
mod inputs;
mod instructions;
mod judged;
mod known_disk;
mod leftovers;
mod notes;
mod overflow;
mod paths;
mod permitted;
mod permitted_properties;
mod preview;
mod project;
mod reading;
mod retention;
mod review;
mod rules;
mod search;
mod skill;
mod stored_write;
mod summary;
mod unmentioned;
#[path = "../../../../tests/support/vault.rs"]
mod vault;
#[path = "../../../../tests/support/workshop.rs"]
mod workshop;
