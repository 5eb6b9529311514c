//! Tools that the provider runs itself, as definitions: they have names and switches like all tools, and nothing that
//! runs.
//!
//! Each conversation gets those that it has chosen and its provider can offer ([`offer`]); the others are left out, and
//! whoever asks is told why. A model that calls one as if it ran here is told that there is no such tool.

use serde_json::json;

use super::{Definition, Executor};
use crate::provider::{HostedTool, HostedToolSpec, ProviderName, SearchLimits, hosts_of};

/// The definitions. They are off until somebody wants them.
pub(super) fn definitions() -> impl Iterator<Item = Definition> {
    HostedTool::ALL.into_iter().map(|tool| {
        // The provider has a schema of its own.
        let schema = json!({ "type": "object", "properties": {} });
        let hosts: Vec<_> = hosts_of(tool).collect();
        let description = format!("{} ({}).", tool.description(), hosts.join(", "));
        let mut definition = Definition::new(tool.name(), &description, schema, Executor::Provider);
        definition.enabled = false;
        definition
    })
}

/// What becomes of the hosted tools that a conversation has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Those that go into a request, sorted by name.
    pub tools: Vec<HostedToolSpec>,
    /// Those that do not, each with the reason.
    pub left_out: Vec<(HostedTool, String)>,
}

/// Sorts out which of the `chosen` tools `provider` can offer with its `model`. `alone`: the
/// conversation offers no tool that runs here.
#[must_use]
pub fn offer(
    chosen: impl IntoIterator<Item = HostedTool>,
    limits: &SearchLimits,
    provider: ProviderName,
    model: &str,
    alone: bool,
) -> Offer {
    let mut offer = Offer::default();
    for tool in chosen {
        let hosted = HostedToolSpec::of(tool, limits);
        match provider.hosts(&hosted, model, alone) {
            Ok(()) => offer.tools.push(hosted),
            Err(problem) => offer.left_out.push((tool, problem.describe(provider.name(), model))),
        }
    }
    offer
}
