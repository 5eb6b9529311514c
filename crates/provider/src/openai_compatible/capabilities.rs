//! Whether a model can use tools, where its server says so.
//!
//! A template without a place for tools drops them silently: the model never sees them, and invents what they
//! would have said. Two servers tell what they know:
//!
//! * llama.cpp: `GET /props` has `chat_template_caps`, and before that `chat_template`
//!   (<https://github.com/ggml-org/llama.cpp/tree/master/tools/server>);
//! * Ollama: `POST /api/show` has `capabilities` (<https://docs.ollama.com/api-reference/show-model-details>).
//!
//! Only a server in the user's own network is asked: others have neither address.

use serde_json::{Value, json};
use url::Url;

use crate::{HttpRequest, host, reply::str_of, vendor_error::Peer};

/// What to ask a server about a model before its tools can be relied on. The runtime asks.
pub struct CapabilityProbe {
    /// The host, with its port if it is not the usual one.
    pub host: String,
    /// The model.
    pub model: String,
    /// The requests, each in the form of one kind of server. The first that is answered counts.
    pub requests: Vec<HttpRequest>,
}

impl CapabilityProbe {
    /// What to tell the user about an answer: something if the model cannot use tools; `None` if it can. The outer
    /// `None` says that the answer tells nothing.
    pub fn read(&self, body: &[u8]) -> Option<Option<String>> {
        let takes_tools = takes_tools(&serde_json::from_slice(body).ok()?)?;
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

/// The requests for a server; `None` if that is not a server of the user's own.
pub(super) fn capability_probe(peer: &Peer, model: &str) -> Option<CapabilityProbe> {
    let mut url = Url::parse(&peer.url).ok().filter(|url| url.host_str().is_some_and(host::is_private))?;
    // The servers have these next to the path of the protocol's version.
    url.path_segments_mut().ok()?.pop_if_empty().pop();
    let address = |path: &[&str]| {
        let mut url = url.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(path);
        Some(url)
    };
    let mut props = address(&["props"])?;
    props.query_pairs_mut().append_pair("model", model);
    let show = json!({ "model": model }).to_string().into_bytes();
    let requests = vec![peer.ask(props.into(), Vec::new()), peer.ask(address(&["api", "show"])?.into(), show)];
    Some(CapabilityProbe { host: peer.host.clone(), model: model.to_owned(), requests })
}

/// Whether a model can use tools, according to an answer; `None` if the answer does not say.
fn takes_tools(answer: &Value) -> Option<bool> {
    if let Some(list) = answer.get("capabilities").and_then(Value::as_array) {
        return Some(list.iter().any(|ability| ability == "tools"));
    }
    if let Some(takes) = answer.pointer("/chat_template_caps/supports_tools").and_then(Value::as_bool) {
        return Some(takes);
    }
    let template = str_of(answer, "chat_template");
    match str_of(answer, "chat_template_tool_use") {
        "" => (!template.trim().is_empty()).then(|| template.contains("tools")),
        _ => Some(true),
    }
}
