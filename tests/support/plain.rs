//! A provider whose replies are what the server sends, as text.

use flemma_model::{Event, StopReason};
use flemma_provider::{Decoder, ErrorKind, ErrorResponse, Exchange, HttpRequest, Provider, ProviderError, Request};

/// A server that sends text as it is.
#[derive(Debug)]
pub struct Plain;

struct PlainDecoder;

impl Provider for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn prepare(&self, _: &Request) -> Result<Exchange, ProviderError> {
        let request = HttpRequest { url: String::new(), headers: Vec::new(), body: Vec::new() };
        Ok(Exchange::Http { request, decoder: Box::new(PlainDecoder) })
    }
}

impl Decoder for PlainDecoder {
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
