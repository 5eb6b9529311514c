//! Tells a reply that reached its limit from one that filled the model's context.
//!
//! Most servers have one word for both, `length` or `max_tokens`. The counts tell them apart: a reply of fewer tokens
//! than it was allowed was stopped by the context, and a higher limit would not help.

use super::{Decoder, ErrorResponse, ProviderError};
use flemma_model::{Event, StopReason};

/// Reads a response with `decoder`, whose request allows a reply of `limit` tokens; `None` if it names no limit.
pub(super) fn apply(decoder: impl Decoder + 'static, limit: Option<u32>) -> Box<dyn Decoder> {
    match limit {
        Some(limit) => Box::new(TokenLimited { decoder, limit: limit.into(), written: 0 }),
        None => Box::new(decoder),
    }
}

struct TokenLimited<D> {
    decoder: D,
    limit: u64,
    /// The tokens of the reply, as far as they were counted.
    written: u64,
}

impl<D: Decoder> TokenLimited<D> {
    fn correct(&mut self, events: &mut [Event]) {
        for event in events {
            match event {
                Event::Usage(usage) => self.written = usage.output,
                // Without a count it is not known.
                Event::Finished(stop) if *stop == StopReason::MaxTokens && (1..self.limit).contains(&self.written) => {
                    *stop = StopReason::ContextFull;
                }
                _ => {}
            }
        }
    }
}

impl<D: Decoder> Decoder for TokenLimited<D> {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let before = events.len();
        let result = self.decoder.feed(bytes, events);
        self.correct(&mut events[before..]);
        result
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let before = events.len();
        let result = self.decoder.finish(events);
        self.correct(&mut events[before..]);
        result
    }

    fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.decoder.decode_error(response)
    }
}
