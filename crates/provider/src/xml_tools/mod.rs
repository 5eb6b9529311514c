//! Tools for models that cannot call any: the tools are described in the system prompt, the model writes its calls as XML in
//! its reply, and gets the results as text.
//!
//! [`prepare`] puts this between a conversation and its server: whoever asks sees tools, and the provider sees text. `prompt`
//! describes the tools, `messages` puts earlier calls and results into words, `reader` finds the calls in the reply as it
//! arrives, and `values` translates between elements and JSON.
//!
//! A call is a code block of XML in the reply:
//!
//! ````text
//! ```xml
//! <tools>
//!   <tool name="read">
//!     <path>src/main.rs</path>
//!   </tool>
//! </tools>
//! ```
//! ````

mod messages;
mod prompt;
mod reader;
mod values;

use std::sync::Arc;

use self::reader::{CallReader, MAY_BE_THINKING};
use super::{Decoder, ErrorResponse, Exchange, ProviderError, Request, Server, ToolSpec};
use flemma_model::{Event, StopReason};

/// What [`Server::prepare`] says of a request whose model calls tools in XML.
///
/// # Errors
/// Those of the server.
pub fn prepare(server: &Server, request: &Request) -> Result<Exchange, ProviderError> {
    Ok(match server.prepare(&as_text(request))? {
        Exchange::Http { request: sent, decoder } => {
            Exchange::Http { request: sent, decoder: read_calls(decoder, Arc::clone(&request.tools)) }
        }
        script @ Exchange::Script(_) => script,
    })
}

/// Makes calls of `tools` of the XML in the text that `decoder` reads.
pub fn read_calls(decoder: Box<dyn Decoder>, tools: Arc<[ToolSpec]>) -> Box<dyn Decoder> {
    Box::new(XmlDecoder { decoder, reader: CallReader::new(tools), events: Vec::new() })
}

/// The request as a model without tools gets it.
pub fn as_text(request: &Request) -> Request {
    let mut request = request.clone();
    let prompt = prompt::describe(&request.tools);
    let system = request.system.take().into_iter().chain(prompt).collect::<Vec<_>>().join("\n\n");
    request.system = (!system.is_empty()).then_some(system);
    request.messages = messages::as_text(&request.messages);
    request.tools = Arc::new([]);
    request
}

/// Makes calls of the XML in a reply.
struct XmlDecoder {
    decoder: Box<dyn Decoder>,
    reader: CallReader,
    /// The events of the provider, before they are looked at.
    events: Vec<Event>,
}

impl XmlDecoder {
    fn translate(&mut self, events: &mut Vec<Event>) {
        for event in self.events.drain(..) {
            match event {
                Event::Text(text) => self.reader.read(&text, events),
                Event::Usage(_) => events.push(event),
                Event::Warning(words) => {
                    // What is said of a reply comes right before its end.
                    self.reader.end(events);
                    if self.reader.has_calls() {
                        self.reader.doubt = Some(words);
                    } else {
                        events.push(Event::Warning(words));
                    }
                }
                Event::Finished(reason) => {
                    self.reader.end(events);
                    events.push(Event::Finished(match (reason, self.reader.doubt.take()) {
                        (StopReason::EndTurn | StopReason::Pause, Some(doubt)) => StopReason::Damaged(doubt),
                        (StopReason::EndTurn, None) if self.reader.has_calls() => StopReason::ToolUse,
                        (reason, _) => reason,
                    }));
                }
                event => {
                    if event == Event::WasThinking && self.reader.has_calls() {
                        self.reader.doubt = Some(MAY_BE_THINKING.to_owned());
                    }
                    // Whatever interrupts the text ends a block in it.
                    self.reader.end(events);
                    events.push(event);
                }
            }
        }
    }
}

impl Decoder for XmlDecoder {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let result = self.decoder.feed(bytes, &mut self.events);
        self.translate(events);
        result
    }

    fn may_end(&self) -> bool {
        self.decoder.may_end()
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ProviderError> {
        let result = self.decoder.finish(&mut self.events);
        self.translate(events);
        self.reader.end(events);
        result
    }

    fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        self.decoder.decode_error(response)
    }
}
