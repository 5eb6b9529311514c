//! One vendor's protocol: a request becomes an exchange, and a decoder reads what comes back.

use super::{CapabilityProbe, ErrorResponse, HttpRequest, ProviderError, Request, attachment, models::ModelsRequest};
use flemma_model::Event;

/// One vendor's protocol.
pub trait Provider: Send + Sync + std::fmt::Debug {
    /// The name in the configuration (`provider = "anthropic"`).
    fn name(&self) -> &'static str;

    /// What images and PDFs it accepts; `None` if it accepts none, and then none are read.
    fn attachment_limits(&self) -> Option<attachment::AttachmentLimits> {
        None
    }

    /// What to ask the server about the model that a request is for, before its tools can be relied on; `None` where
    /// it is certain, or no server can be asked.
    fn capability_probe(&self, _request: &Request) -> Option<CapabilityProbe> {
        None
    }

    /// The request for the models that the server has; `None` for a vendor whose models are known.
    ///
    /// # Errors
    /// When the request cannot be made at all: the address is wrong, or the key is not one.
    fn list_models(&self) -> Result<Option<ModelsRequest>, ProviderError> {
        Ok(None)
    }

    /// Turns a request into an exchange.
    ///
    /// # Errors
    /// When the request cannot be made at all: no key, or a conversation that the protocol cannot carry.
    /// The message names the fix.
    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError>;
}

/// What `runtime` performs for one request.
pub enum Exchange {
    /// One HTTP request with a streamed response.
    Http {
        /// What to send.
        request: HttpRequest,
        /// Reads what comes back.
        decoder: Box<dyn Decoder>,
    },
    /// A script: each event after its pause. Used by the embedded `rehearsal` provider.
    Script(Vec<(std::time::Duration, Event)>),
}

/// Reads one response.
pub trait Decoder: Send {
    /// Takes the next bytes of the stream, cut anywhere, and appends the events that they complete.
    ///
    /// # Errors
    /// When the stream carries the vendor's error event or cannot be understood.
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError>;

    /// The stream has ended.
    ///
    /// # Errors
    /// When it ended before the vendor said that the reply is complete.
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError>;

    /// Turns a response whose status is not a success into an error.
    fn decode_error(&self, response: &ErrorResponse) -> ProviderError;
}
