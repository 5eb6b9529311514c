//! A conversation that begins as another one does. A note before its first message says so:
//!
//! ```text
//! <!-- flemma:forked from="/home/me/notes.chat" message=3 -->
//!
//! @You:
//! ```

use std::path::Path;

use super::{Document, Speaker, Text, attributes};

/// How the note begins.
const NOTE: &str = "<!-- flemma:forked ";

/// Whether a line before the first message is such a note, which is sent to nobody.
pub(super) fn is_note(line: &str) -> bool {
    line.starts_with(NOTE)
}

/// The lines of a fork of the conversation in `file`: all up to the end of the message at `line`. A reply that is not the user's is
/// followed by a prompt for them.
pub fn forked(document: &Document, text: &dyn Text, line: usize, file: &Path) -> Vec<String> {
    let message = document.message_at(line).unwrap_or_default();
    let messages = document.messages();
    let head = document.frontmatter().map_or(0, |matter| matter.lines);
    let of = attributes::quote(&file.to_string_lossy());
    let mut lines: Vec<String> = (0..head).map(|line| text.line(line)).collect();
    lines.extend([format!("{NOTE}from={of} message={} -->", message + 1), String::new()]);
    let end = messages.get(message).map_or(document.head().end, |message| message.range().end);
    lines.extend((document.head().end..end).map(|line| text.line(line)));
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    if messages.get(message).is_none_or(|message| message.role != Speaker::You) {
        lines.extend(["", "@You:", ""].map(str::to_owned));
    }
    lines
}
