//! What a reply may bring: a broken or hostile server must not hold up the editor.
//!
//! Events pass through [`ReplyLimit`] on the thread that reads them. A long text is cut into pieces that the main
//! thread takes one at a time; a reply that is too large, or calls too many tools, is cut off with an error that says
//! so; and a name longer than any protocol allows is cut, so that the call is answered with an error.

use serde_json::Value;

use super::{ErrorKind, ProviderError};
use flemma_model::{CallId, Event, Hosted, HostedBlock, ToolInput};

/// How large a reply may be unless the options say otherwise, in bytes.
pub const DEFAULT_REPLY_BYTES: u32 = 8 << 20;

/// The most calls in one reply. No model makes as many on purpose.
pub const MAX_CALLS: usize = 128;

/// The longest name of a tool in any of the protocols (Anthropic's), in characters.
pub const MAX_NAME: usize = 128;

/// The longest id of a call that is taken, in bytes. Vendors' own have fewer than a hundred.
pub const MAX_ID: usize = 1024;

/// The most work, as [`weight`] counts it, in one piece of text.
pub const PIECE: usize = 64 * 1024;

/// What a line break costs in addition to its byte: it makes a line of the buffer.
const LINE: usize = 15;

/// How much work it is to write a text, in bytes of a long line.
pub fn weight(text: &str) -> usize {
    text.len() + LINE * memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Measures one reply.
#[derive(Debug)]
pub struct ReplyLimit {
    max_bytes: usize,
    bytes: usize,
    calls: usize,
}

impl ReplyLimit {
    /// ReplyLimit for one reply of at most `max_bytes`.
    pub const fn new(max_bytes: usize) -> Self {
        Self { max_bytes, bytes: 0, calls: 0 }
    }

    /// Lets an event through, perhaps in pieces.
    ///
    /// # Errors
    /// When the reply ends here. What fits was let through.
    pub fn pass(&mut self, mut event: Event, mut sink: impl FnMut(Event)) -> Result<(), ProviderError> {
        let bytes = match &mut event {
            Event::Text(text) => return self.pieces(text, |piece| sink(Event::Text(piece))),
            Event::Thinking(text) => return self.pieces(text, |piece| sink(Event::Thinking(piece))),
            Event::ToolUseProgress { name, bytes } => {
                cut(name);
                // A call is counted when it is complete, but one that is too large already need not be awaited.
                if *bytes > self.max_bytes.saturating_sub(self.bytes) {
                    return Err(self.too_large());
                }
                0
            }
            Event::ToolUse { id, name, input } => {
                self.call(id, name)?;
                match input {
                    ToolInput::Json(value) => size(value),
                    ToolInput::Malformed(text) => text.len(),
                }
            }
            Event::Hosted(Hosted { block, .. }) => match block {
                HostedBlock::Call { id, name, raw } => {
                    self.call(id, name)?;
                    size(raw)
                }
                HostedBlock::Result { raw, .. } => size(raw),
                HostedBlock::Citations { raw, sources } => {
                    raw.as_ref().map_or(0, size) + sources.iter().map(|source| source.url.len()).sum::<usize>()
                }
            },
            Event::ThinkingFinished { signature: Some(signature) } | Event::RedactedThinking(signature) => {
                signature.value.len()
            }
            Event::ThinkingStarted
            | Event::WasThinking
            | Event::ThinkingFinished { .. }
            | Event::Usage(_)
            | Event::Warning(_)
            | Event::Finished(_) => 0,
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes {
            return Err(self.too_large());
        }
        sink(event);
        Ok(())
    }

    /// Lets as much of a text through as fits, in pieces that take little work each.
    fn pieces(&mut self, text: &str, mut sink: impl FnMut(String)) -> Result<(), ProviderError> {
        let room = self.max_bytes.saturating_sub(self.bytes);
        let mut rest = &text[..text.floor_char_boundary(room)];
        let is_whole = rest.len() == text.len();
        self.bytes += rest.len();
        while !rest.is_empty() {
            let piece = first_piece(rest);
            sink(piece.to_owned());
            rest = &rest[piece.len()..];
        }
        if is_whole { Ok(()) } else { Err(self.too_large()) }
    }

    fn call(&mut self, id: &CallId, name: &mut String) -> Result<(), ProviderError> {
        cut(name);
        self.calls += 1;
        if self.calls > MAX_CALLS {
            let message = format!(
                "the reply was cut off: it makes more than {MAX_CALLS} tool calls, and no reply may make more. None of them \
                 was run, and those after the first {MAX_CALLS} are left out. Ctrl-] tells the model so"
            );
            let for_model = format!(
                "This call did not run. The reply was cut off because it makes more than {MAX_CALLS} tool calls: none of \
                 them was run, and those after the first {MAX_CALLS} are not in the conversation. Make fewer calls at a time."
            );
            return Err(ProviderError::new(ErrorKind::UnusableReply, message).telling_model(for_model));
        }
        if id.0.len() > MAX_ID {
            let length = id.0.len();
            let message =
                format!("the reply was cut off: the id of a tool call has {length} bytes; the limit is {MAX_ID}");
            return Err(ProviderError::new(ErrorKind::UnusableReply, message));
        }
        Ok(())
    }

    fn too_large(&self) -> ProviderError {
        let message = format!(
            "the reply was cut off: it is larger than {} bytes. Raise `parameters.max_reply_bytes` to allow longer replies",
            self.max_bytes
        );
        ProviderError::new(ErrorKind::ReplyLimit, message)
    }
}

/// The beginning of a text that weighs no more than a [`PIECE`]; at least one character.
fn first_piece(text: &str) -> &str {
    let mut weighed = 0;
    for (at, character) in text.char_indices() {
        weighed += character.len_utf8() + if character == '\n' { LINE } else { 0 };
        if weighed > PIECE && at > 0 {
            return &text[..at];
        }
    }
    text
}

/// A name that is too long is cut. There is no tool of that name, so the call fails with an error for the model.
fn cut(name: &mut String) {
    if let Some((at, _)) = name.char_indices().nth(MAX_NAME) {
        name.truncate(at);
    }
}

/// As many bytes as the JSON has.
fn size(value: &Value) -> usize {
    value.to_string().len()
}
