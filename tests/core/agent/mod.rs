//! The turn together with the workspace's outbox.

#[allow(dead_code)]
#[path = "../../../crates/agent/tests/agent/harness.rs"]
mod harness;
mod outbox;

use flemma_workspace::Outbox;
