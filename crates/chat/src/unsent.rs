//! Thinking that cannot be sent because no provider can read its signature, or because its text was signed and has changed.
//!
//! Other tools write this format too, with signatures in their own forms, and people edit files. Thinking that cannot
//! be sent back to its provider is reported at its line, so that it is not lost silently. Thinking without a signature
//! is not reported: it is only for the reader.

use std::ops::Range;

use super::{BlockKind, Diagnostic, Document, Text, escape::unescape_lines, syntax::ThinkingTag};
use flemma_provider::signers;

/// The maximum number of wrong letters in a provider's name for a suggestion.
const SLIP: usize = 2;

impl Document {
    /// A warning for every block of thinking that cannot be sent. It reads the first line of each block, and all lines
    /// of hidden thinking without a signature and of thinking whose text was signed, unless the block was correct before and
    /// has not changed.
    #[must_use]
    pub fn unsent(&self, text: &dyn Text) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for message in self.messages.iter().filter(|message| !message.checked.thinking.get()) {
            let before = found.len();
            let thinking = message.blocks.iter().filter(|block| block.closed && block.kind == BlockKind::Thinking);
            for lines in thinking.map(|block| message.lines_of(block)) {
                let line = lines.start;
                found.extend(problem(lines, text).map(|note| Diagnostic::warning(line, note)));
            }
            message.checked.thinking.set(found.len() == before);
        }
        found
    }
}

/// Why the thinking on these lines cannot be sent.
fn problem(lines: Range<usize>, text: &dyn Text) -> Option<String> {
    let tag = text.line(lines.start);
    let signatures = ThinkingTag::signatures(&tag);
    let Some(signature) = signatures.first() else {
        let is_lost =
            ThinkingTag::read(&tag).redacted && flemma_provider::redacted_signature(&hidden(lines, text)).is_none();
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
    let thought = || {
        let lines = hidden(lines, text);
        unescape_lines(lines.strip_suffix('\n').unwrap_or(&lines))
    };
    (!ThinkingTag::read(&tag).is_of(thought)).then(note)
}

/// The lines between the tags of a closed block, as they are read.
fn hidden(lines: Range<usize>, text: &dyn Text) -> String {
    let mut hidden = String::new();
    text.read(lines.start + 1..lines.end.saturating_sub(1), &mut |line| {
        hidden.push_str(line.trim_end_matches('\r'));
        hidden.push('\n');
    });
    hidden
}
