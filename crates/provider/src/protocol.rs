//! What a request becomes: an exchange, and a decoder that reads what comes back.

use super::{ErrorResponse, HttpRequest, ProviderError};
use flemma_model::Event;

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

    /// Whether the vendor has said why the reply ends: what still comes is a count, and may never come.
    fn may_end(&self) -> bool {
        false
    }

    /// The stream has ended, or is not read any more. Appends what is left, such as a part of a call's input.
    ///
    /// # Errors
    /// When it ended before the vendor said that the reply is complete. No call of such a reply may run.
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError>;

    /// Turns a response whose status is not a success into an error.
    fn decode_error(&self, response: &ErrorResponse) -> ProviderError;
}
