//! The conversation that is sent to a provider, built from the document.
//!
//! Each message is built once and cached until an update changes it, so that a request in a long conversation builds
//! only what is new. Nothing is invented: a call without a result, and anything else that [`diagnostics()`]
//! reports as an error, is an error here.

use std::sync::Arc;

use super::{Diagnostic, Document, Severity, Speaker, Text, diagnostics, read::build};
use flemma_model as model;
use flemma_model::Part;

/// A conversation, independent of any vendor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The text of the `@System:` messages, joined by a blank line if there are several.
    pub system: Option<String>,
    /// The other messages, in order, without empty ones. Neighbouring messages may have the same role. Parts are in
    /// document order: text that the user wrote above a result precedes it.
    pub messages: Vec<Arc<model::Message>>,
}

impl Document {
    /// Builds the conversation.
    ///
    /// # Errors
    /// Every diagnostic of [`Severity::Error`], and one for every call without a result.
    pub fn transcript(&mut self, text: &dyn Text) -> Result<Transcript, Vec<Diagnostic>> {
        let mut errors = diagnostics(self, text);
        errors.retain(|diagnostic| diagnostic.severity == Severity::Error);
        for call in self.calls().all_open().iter().map(|open| open.call) {
            let note = format!("The call `{}` has no result yet. Run it, reject it, or delete it.", call.tool.id);
            errors.push(Diagnostic::error(call.lines().start, note));
        }
        let mut conversation = Transcript::default();
        for message in &mut self.messages {
            let built = match message.known.0.built.clone().map_or_else(|| build(message, text), Ok) {
                Ok(built) => message.known.0.built.insert(built),
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            if built.parts.is_empty() {
                continue;
            }
            if message.role == Speaker::System {
                conversation.instruct(built);
            } else {
                conversation.messages.push(Arc::clone(built));
            }
        }
        if errors.is_empty() {
            return Ok(conversation);
        }
        errors.sort_by_key(|diagnostic| diagnostic.line);
        Err(errors)
    }

    /// Builds messages in advance for [`Document::transcript`], about `lines` lines at a time. Returns whether there
    /// are more. It stops at a message that cannot be built.
    pub fn build_ahead(&mut self, text: &dyn Text, lines: usize) -> bool {
        let mut left = lines;
        for message in self.messages.iter_mut().filter(|message| message.known.0.built.is_none()) {
            if left == 0 {
                return true;
            }
            let Ok(built) = build(message, text) else { return false };
            message.known.0.built = Some(built);
            left = left.saturating_sub(message.lines);
        }
        false
    }
}

impl Transcript {
    fn instruct(&mut self, message: &model::Message) {
        let system = self.system.get_or_insert_default();
        for part in &message.parts {
            if let Part::Text(text) = part {
                if !system.is_empty() {
                    system.push_str("\n\n");
                }
                system.push_str(text);
            }
        }
    }
}

/// Reads a whole conversation from the text of a file, for scripts.
///
/// ```
/// let conversation = flemma_chat::read("@System:\nBe brief.\n\n@You:\nHello!\n").unwrap();
/// assert_eq!(conversation.system.as_deref(), Some("Be brief."));
/// assert_eq!(conversation.messages.len(), 1);
/// ```
///
/// # Errors
/// See [`Document::transcript`].
pub fn read(text: &str) -> Result<Transcript, Vec<Diagnostic>> {
    let lines = super::text::lines(text);
    Document::parse(&lines).transcript(&lines)
}
