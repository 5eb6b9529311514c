//! Definitions of tools that the provider runs itself. They have names and can be enabled like all tools, but nothing
//! here runs them.
//!
//! Each conversation gets the tools that it has chosen and that its provider supports ([`offer`]). The others are left out,
//! with a reason. A model that calls one as if it ran here is told that there is no such tool.

use serde_json::json;

use super::{Definition, Executor};
use flemma_provider::{HostedTool, ProviderName, SearchLimits, hosts_of};

/// The definitions. They are disabled by default.
pub(super) fn definitions() -> impl Iterator<Item = Definition> {
    HostedTool::all(&SearchLimits::default()).into_iter().map(|tool| {
        // The provider has a schema of its own.
        let schema = json!({ "type": "object", "properties": {} });
        let hosts: Vec<_> = hosts_of(&tool).collect();
        let description = format!("{} ({}).", tool.description(), hosts.join(", "));
        let mut definition = Definition::new(tool.name(), &description, schema, Executor::Provider);
        definition.enabled = false;
        definition
    })
}

/// The hosted tools that a conversation has chosen, by whether they are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The tools that are part of a request, sorted by name.
    pub tools: Vec<HostedTool>,
    /// The other tools, each with the reason.
    pub left_out: Vec<(HostedTool, String)>,
}

/// Determines which of the `chosen` tools `provider` supports with its `model`. `alone`: the conversation offers no tool
/// that runs here.
pub fn offer(chosen: impl IntoIterator<Item = HostedTool>, provider: ProviderName, model: &str, alone: bool) -> Offer {
    let mut offer = Offer::default();
    for tool in chosen {
        match provider.hosts(&tool, model, alone) {
            Ok(()) => offer.tools.push(tool),
            Err(problem) => offer.left_out.push((tool, problem.describe(provider.name(), model))),
        }
    }
    offer
}
