//! What to ask a server about a model before its tools can be relied on.
//!
//! A vendor's folder knows which addresses answer and what an answer says; the runtime asks.

use serde_json::Value;

use super::HttpRequest;

/// What to ask a server about a model.
pub struct CapabilityProbe {
    /// The host, with its port if it is not the usual one.
    pub host: String,
    /// The model.
    pub model: String,
    /// The requests, each in the form of one kind of server. The first that is answered counts.
    pub requests: Vec<HttpRequest>,
    /// Whether the model can use tools, according to an answer; `None` if the answer does not say.
    pub(super) takes_tools: fn(&Value) -> Option<bool>,
}

impl CapabilityProbe {
    /// What to tell the user about an answer: something if the model cannot use tools; `None` if it can. The outer
    /// `None` says that the answer tells nothing.
    #[must_use]
    pub fn read(&self, body: &[u8]) -> Option<Option<String>> {
        let takes_tools = (self.takes_tools)(&serde_json::from_slice(body).ok()?)?;
        let warning = || {
            format!(
                "{} at {} cannot use tools: its chat template drops them, and it may invent results. Choose a model \
                 that supports tools, or turn them off with `flemma.opt.tools = {{}}`.",
                self.model, self.host
            )
        };
        Some((!takes_tools).then(warning))
    }
}
