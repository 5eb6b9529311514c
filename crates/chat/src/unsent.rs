//! Thinking that cannot be sent because no provider can read its signature, or because its text was signed and has changed.
//!
//! Other tools write this format too, with signatures in their own forms, and people edit files. Thinking that cannot
//! be sent back to its provider is reported at its line, so that it is not lost silently. Thinking without a signature
//! is not reported: it is only for the reader.

use super::{Block, BlockKind, Diagnostic, ParsedMessage, Slice, Text, escape::unescape_lines, syntax::ThinkingTag};
use flemma_provider::signers;

/// The maximum number of wrong letters in a provider's name for a suggestion.
const SLIP: usize = 2;

/// A warning for every block of thinking that cannot be sent. It reads the first line of each block, and all lines
/// of hidden thinking without a signature and of thinking whose text was signed, unless the block was correct before and
/// has not changed.
#[must_use]
pub fn unsent(messages: &[ParsedMessage], text: &dyn Text) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|message| !message.known.0.thinking_is_correct.get()) {
        let before = found.len();
        for block in message.blocks.iter().filter(|block| block.closed && block.kind == BlockKind::Thinking) {
            let line = message.lines_of(block).start;
            found.extend(problem(message, block, text).map(|note| Diagnostic::warning(line, note)));
        }
        message.known.0.thinking_is_correct.set(found.len() == before);
    }
    found
}

/// Why this thinking cannot be sent.
fn problem(message: &ParsedMessage, block: &Block, text: &dyn Text) -> Option<String> {
    let line = text.line(message.lines_of(block).start);
    let tag = ThinkingTag::read(&line);
    let thought = || Slice::read(text, message.lines_of(block)).inside(message, block);
    let signatures = ThinkingTag::signatures(&line);
    let Some(signature) = signatures.first() else {
        let is_lost = tag.redacted && flemma_provider::redacted_signature(&thought()).is_none();
        let note = "This hidden thinking has no provider and no data, so it is not sent back.";
        return is_lost.then(|| note.to_owned());
    };
    let name = signature.provider.as_str();
    if signatures.len() > 1 {
        return Some("This thinking has several signatures. Only the first one is used.".to_owned());
    }
    if name.is_empty() {
        let note = "This signature does not name its provider, so it is not sent. Write `anthropic:signature=…`, with \
                    the name of the provider that made it.";
        return Some(note.to_owned());
    }
    if !signers().any(|known| known == name) {
        let near = signers().find(|known| strsim::osa_distance(known, name) <= SLIP);
        let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Some(format!("There is no provider `{name}`, so this signature is not sent{meant}"));
    }
    if !flemma_provider::is_readable(signature) {
        return Some(format!("This signature from `{name}` is not valid, so the thinking is not sent back."));
    }
    let note = || format!("This is not the text that `{name}` has signed, so the thinking is not sent back.");
    (!tag.is_of(|| unescape_lines(&thought()))).then(note)
}
