//! A reply that is being read.

use flemma_model::Event;
use flemma_provider::{Decoder, ProviderError};

/// A decoder, and who takes its events. Whoever stops the request ends it as well, and so gets what is left of the reply,
/// in its order.
pub struct Reading<S> {
    pub(super) decoder: Box<dyn Decoder>,
    sink: S,
    /// Anything of the reply has come: a count alone is nothing of it.
    pub(super) has_begun: bool,
    pub(super) is_over: bool,
}

impl<S: FnMut(Event) -> Result<(), ProviderError>> Reading<S> {
    /// What `decoder` makes of a response goes to `sink`, as soon as it is complete.
    pub const fn new(decoder: Box<dyn Decoder>, sink: S) -> Self {
        Self { decoder, sink, has_begun: false, is_over: false }
    }

    /// Takes the next bytes. Says whether they brought anything of the reply.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<bool, ProviderError> {
        if self.is_over {
            return Ok(false);
        }
        let mut events = Vec::new();
        let result = self.decoder.feed(bytes, &mut events);
        if result.is_err() {
            let _ = self.decoder.finish(&mut events);
            events.retain(|event| !matches!(event, Event::Finished(_)));
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
