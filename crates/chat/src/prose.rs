//! The user's prose, line by line.

use std::ops::Range;

use super::{BlockKind, Document, ParsedMessage, Speaker, Text, syntax};

impl ParsedMessage {
    /// Reads lines of a block of text. `each` gets the number of a line, the column where its prose begins (behind the marker, in
    /// the first line of a message), and the prose.
    pub(super) fn read_prose(&self, lines: Range<usize>, text: &dyn Text, each: &mut dyn FnMut(usize, usize, &str)) {
        let mut line = lines.start;
        text.read(lines, &mut |content| {
            let skipped = match syntax::marker(content) {
                Some((_, column)) if line == self.start => column,
                _ => 0,
            };
            each(line, skipped, content.get(skipped..).unwrap_or_default());
            line += 1;
        });
    }
}

impl Document {
    /// Reads the user's own prose in the lines in `range`: see [`ParsedMessage::read_prose`].
    pub(super) fn read_users_prose(
        &self,
        range: &Range<usize>,
        text: &dyn Text,
        each: &mut dyn FnMut(usize, usize, &str),
    ) {
        let first = self.messages.partition_point(|message| message.range().end <= range.start);
        let messages = self.messages.get(first..).unwrap_or_default().iter();
        for message in messages.take_while(|message| message.start < range.end) {
            if message.role != Speaker::You {
                continue;
            }
            for block in message.blocks.iter().filter(|block| block.kind == BlockKind::Text) {
                let lines = message.lines_of(block);
                let lines = lines.start.max(range.start)..lines.end.min(range.end);
                if !lines.is_empty() {
                    message.read_prose(lines, text, each);
                }
            }
        }
    }
}
