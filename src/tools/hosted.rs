//! Tools that the provider runs itself, as definitions: they have names and switches like all tools, and nothing that
//! runs.
//!
//! Each conversation gets those that it has chosen and its provider can offer ([`offer`]); the others are left out, and
//! whoever asks is told why. A model that calls one as if it ran here is told that there is no such tool.

use serde_json::json;

use super::{Definition, Executor};
use crate::provider::{Hosted, HostedTool, SearchLimits};

/// The definitions. They are off until somebody wants them.
pub(super) fn definitions() -> impl Iterator<Item = Definition> {
    HostedTool::ALL.into_iter().map(|tool| {
        // The provider has a schema of its own.
        let schema = json!({ "type": "object", "properties": {} });
        let mut definition = Definition::new(tool.name(), tool.description(), schema, Executor::Provider);
        definition.enabled = false;
        definition
    })
}

/// What becomes of the hosted tools that a conversation has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Those that go into a request, sorted by name.
    pub tools: Vec<Hosted>,
    /// Those that do not, each with the reason ([`Hosted::refusal`]).
    pub left_out: Vec<(HostedTool, String)>,
}

/// Sorts out which of the `chosen` tools the provider named `provider` can offer with its `model`. `alone`: the
/// conversation offers no tool that runs here.
#[must_use]
pub fn offer(
    chosen: impl IntoIterator<Item = HostedTool>,
    limits: &SearchLimits,
    provider: &str,
    model: &str,
    alone: bool,
) -> Offer {
    let mut offer = Offer::default();
    for tool in chosen {
        let hosted = match tool {
            HostedTool::CodeExecution => Hosted::CodeExecution,
            HostedTool::WebSearch => Hosted::WebSearch(limits.clone()),
        };
        match hosted.refusal(provider, model, alone) {
            None => offer.tools.push(hosted),
            Some(reason) => offer.left_out.push((tool, reason)),
        }
    }
    offer
}
