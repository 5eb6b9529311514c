//! The turn, by what a user sees of it and a provider hears of it.

mod cycle;
mod decisions;
mod faults;
mod harness;
mod limits;
mod loading;
mod outbox;
mod overrides;
mod replies;
mod statuses;
mod stopping;
mod storms;
mod words;
