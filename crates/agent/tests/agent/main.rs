//! The turn, by what a user sees of it and a provider hears of it.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod cycle;
mod decisions;
mod faults;
mod harness;
mod judging;
mod limits;
mod loading;
#[path = "../../../../tests/support/notation.rs"]
mod notation;
mod overrides;
mod replies;
mod statuses;
mod stopping;
mod storms;
mod words;

use flemma_agent::Departure;

/// An outbox that is empty. The workspace's is tried with the agent in `tests/core/agent`.
#[derive(Default)]
pub struct Outbox;

impl Outbox {
    pub fn state(&self) -> flemma_agent::Outbox {
        flemma_agent::Outbox::default()
    }

    pub fn departing(&self, _: Departure) -> Vec<String> {
        Vec::new()
    }

    pub fn departed(&mut self, _: Departure) {}
}
