//! The row of servers of this kind, and their options.

use serde_json::json;

use super::{capabilities, decode::CompletionsReply, encode, opaque};
use crate::{
    ErrorKind, ProviderError,
    attachment::AttachmentLimits,
    connection::{self, VERSIONED_URL},
    credential::KeySource,
    dialect::Dialect,
    openai,
    vendor::Vendor,
    vendor_error::VendorFailure,
};
use flemma_model::options::kinds;

/// The name in the configuration, and the owner of the marks at thinking that goes back.
pub(super) const NAME: &str = "openai_compatible";

/// A server. It may not want a key, and there is none to ask where the address is not set.
pub(crate) static VENDOR: Vendor = Vendor {
    title: "a Chat Completions server",
    // A name of its own, so that OpenAI's key is never sent to another server.
    key_variable: "OPENAI_COMPATIBLE_API_KEY",
    no_key: None,
    key_sources: &[KeySource::Keyring(NAME)],
    // Ollama's on this machine.
    base_url: "http://localhost:11434/v1",
    limits: Some(LIMITS),
    reads_signature: Some(opaque::is_readable),
    models_endpoint: |server| server.endpoint("", "/models").map(Some),
    capability_probe: |server, request| {
        let asks = !request.tools.is_empty();
        asks.then(|| capabilities::capability_probe(&server.endpoint("", "").ok()?, &request.model)).flatten()
    },
    failure,
    begins_with: |event| event.pointer("/choices/0").is_some(),
    ..Vendor::new(
        NAME,
        |table| {
            let mut options = connection::read(table, &VERSIONED_URL);
            options["think_tags"] = json!(table.some("think_tags", &kinds::SWITCH));
            options["dialect"] = table.table("dialect", Dialect::read);
            options
        },
        |server, request| {
            let peer = server.endpoint("", "/chat/completions")?;
            if request.model.trim().is_empty() {
                let message = format!("`model` is not set; write the name of a model that {} has", peer.host);
                return Err(ProviderError::new(ErrorKind::Options, message));
            }
            let dialect = server.dialect(&request.model);
            let (body, limit) = (encode::body(request, &peer.host, &dialect)?, encode::limit(request, &dialect));
            let reply = CompletionsReply::new(&peer.host, request, server.options.get("think_tags").unwrap_or(true));
            peer.exchange(request, &body, reply, limit)
        },
    )
};

/// What is sent of images and PDFs. The protocol names no limits and every server has its own; these are small enough
/// for servers that name theirs: 10 MB an image (<https://docs.x.ai/docs/guides/image-understanding>), 30 MB a request
/// with the files in base64 (<https://docs.modelslab.com/enterprise-api/llm-endpoint/files>).
const LIMITS: AttachmentLimits = AttachmentLimits {
    vendor: "a Chat Completions server",
    image_bytes: 10 << 20,
    files: 100,
    total_bytes: 21 << 20,
    ..AttachmentLimits::NONE
};

/// What errors mean: OpenAI's names for them, and those of llama.cpp's server
/// (<https://github.com/ggml-org/llama.cpp/tree/master/tools/server>).
fn failure(name: &str) -> Option<VendorFailure> {
    match name {
        // The model is still being loaded.
        "unavailable_error" => Some(VendorFailure::Overloaded),
        "not_supported_error" => Some(VendorFailure::Refused),
        _ => openai::failure(name),
    }
}
