//! Replies that are what the server sends, as text.

use flemma_model::{Event, StopReason};
use flemma_provider::{Decoder, ErrorKind, ErrorResponse, ProviderError};

/// Reads text as it is.
pub struct Plain;

impl Decoder for Plain {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        events.push(Event::Text(String::from_utf8(bytes.to_vec()).unwrap()));
        Ok(())
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        events.push(Event::Finished(StopReason::EndTurn));
        Ok(())
    }

    fn decode_error(&self, _: &ErrorResponse) -> ProviderError {
        ProviderError::new(ErrorKind::InvalidRequest, String::new())
    }
}
