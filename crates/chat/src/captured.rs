//! Captured references: what `@diff`, `@diagnostics` or `@./a.rs#L10-L20` meant when the message was sent.
//!
//! ````text
//! @You:
//! What is wrong here? @diagnostics
//!
//! ```flemma:captured of="@diagnostics"
//! src/a.rs: 1 diagnostic
//! 12:5 error: no such field
//! ```
//! ````
//!
//! The fence is below the paragraph with the reference, in the same message, and is sent as a part of it. So every later
//! request says the same, whatever has become of the editor and its files. A reference that has its fence is not captured
//! again. What is in the fence is nobody's message: it is escaped, and the fence is longer than any in it.

use std::ops::Range;

use super::{Block, Document, ParsedMessage, Text, attributes, escape};
use flemma_text::Fence;

/// The first word of the info string.
const INFO: &str = "flemma:captured";

/// The attribute that names the reference.
const OF: &str = "of";

/// The attribute that says how much of it is there.
const CUT: &str = "cut";

/// What a reference was when it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The line of the reference.
    pub line: usize,
    /// The reference as it is written.
    pub written: String,
    /// What it says, as plain text.
    pub content: String,
    /// How much of it is there, if something was left out for want of room: `512 of 3000 lines`.
    pub cut: Option<String>,
}

/// The reference that an info string says was captured; `None` if it is no such info string.
pub(super) fn reference_of(info: &str) -> Option<String> {
    attribute(info, OF)
}

/// The reference that a block says was captured, and how much of it is there if something was left out.
pub(super) fn captured_at(message: &ParsedMessage, block: &Block, text: &dyn Text) -> Option<(String, Option<String>)> {
    if !block.is_captured() {
        return None;
    }
    let line = text.line(message.lines_of(block).start);
    let (_, info) = Fence::open(&line)?;
    Some((reference_of(info)?, attribute(info, CUT)))
}

/// The first lines of what was captured, of which a line is in `range`, and the reference of each.
#[must_use]
pub fn captures_in(document: &Document, range: Range<usize>, text: &dyn Text) -> Vec<(usize, String)> {
    let captured = document
        .blocks_in(range)
        .filter_map(|(message, block)| Some((message.lines_of(block).start, captured_at(message, block, text)?.0)));
    captured.collect()
}

fn attribute(info: &str, key: &str) -> Option<String> {
    let (word, words) = attributes::split(info);
    let mut attributes = attributes::read(words).into_iter().filter(|_| word == INFO);
    let found = attributes.find(|attribute| attribute.key == key && attribute.sound)?;
    found.value.map(std::borrow::Cow::into_owned)
}

/// A blank line, and the fence.
pub(super) fn fence(capture: &Capture) -> Vec<String> {
    let tidy = |line: &str| -> String {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
    };
    let content: Vec<String> = capture.content.lines().map(|line| escape(&tidy(line)).into_owned()).collect();
    let marks = Fence::around(&content.join("\n")).marks();
    let cut = capture.cut.as_ref().map_or_else(String::new, |cut| format!(" {CUT}={}", attributes::quote(cut)));
    let info = format!("{marks}{INFO} {OF}={}{cut}", attributes::quote(&capture.written));
    [String::new(), info].into_iter().chain(content).chain([marks]).collect()
}
