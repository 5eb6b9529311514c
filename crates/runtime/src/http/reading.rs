//! A reply that is being read.

use flemma_model::Event;
use flemma_provider::{Decoder, ErrorResponse, ProviderError};

/// A decoder, and who takes its events. Whoever stops the request ends it as well, and so gets what is left of the reply,
/// in its order.
pub struct Reading<S> {
    decoder: Box<dyn Decoder>,
    sink: S,
    /// Anything of the reply has come: a count alone is nothing of it.
    has_begun: bool,
    is_over: bool,
}

impl<S: FnMut(Event) -> Result<(), ProviderError>> Reading<S> {
    /// What `decoder` makes of a response goes to `sink`, as soon as it is complete.
    pub const fn new(decoder: Box<dyn Decoder>, sink: S) -> Self {
        Self { decoder, sink, has_begun: false, is_over: false }
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn may_end(&self) -> bool {
        self.decoder.may_end()
    }

    pub(super) fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.decoder.decode_error(response)
    }

    /// Takes the next bytes. Says whether they brought anything of the reply.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<bool, ProviderError> {
        if self.is_over {
            return Ok(false);
        }
        let mut events = Vec::new();
        let result = self.decoder.feed(bytes, &mut events);
        if result.is_err() {
            let whole = events.len();
            let _ = self.decoder.finish(&mut events);
            let is_end = |event: &Event| matches!(event, Event::Finished(_));
            events.truncate(events[whole..].iter().position(is_end).map_or(events.len(), |end| whole + end));
            self.is_over = true;
        }
        let brought = self.pass(events)?;
        result.map(|()| brought)
    }

    /// Nothing more is read, perhaps because of an error. It does not matter to a reply that is complete.
    ///
    /// # Errors
    /// When the reply is not complete.
    pub fn end(&mut self, error: Option<ProviderError>) -> Result<(), ProviderError> {
        if self.is_over {
            return Ok(());
        }
        let mut events = Vec::new();
        let result = self.decoder.finish(&mut events);
        self.is_over = true;
        self.pass(events)?;
        result.map_err(|incomplete| error.unwrap_or(incomplete))
    }

    fn pass(&mut self, events: Vec<Event>) -> Result<bool, ProviderError> {
        let mut brought = false;
        for event in events {
            self.is_over |= matches!(event, Event::Finished(_));
            brought |= !matches!(event, Event::Usage(_));
            self.has_begun |= brought;
            let result = (self.sink)(event);
            self.is_over |= result.is_err();
            result?;
        }
        Ok(brought)
    }
}
