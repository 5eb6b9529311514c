//! A copy of a conversation's text for the thread that writes its file.
//!
//! The copy is kept from one write to the next, in blocks that the threads share. Only the blocks that have changed since
//! are read from the host again. So a write costs the main thread as much as the change does, however long the text is.

use std::{ops::Range, sync::Arc};

use super::text::{Change, Text};

/// The most lines in a block.
const BLOCK: usize = 512;

/// How many changed lines are left for the next time that the text is taken.
const READ_AT_ONCE: usize = 4_096;

/// Some lines, as a file has them: a line feed ends each of them.
#[derive(Debug)]
struct Block {
    lines: usize,
    bytes: Vec<u8>,
}

impl Block {
    fn read(text: &dyn Text, lines: Range<usize>) -> Self {
        let mut block = Self { lines: 0, bytes: Vec::new() };
        text.read_bytes(lines, &mut |line| {
            let begin = block.bytes.len();
            block.bytes.extend_from_slice(line);
            // A line feed in a line stands for a NUL.
            block.bytes[begin..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = 0);
            block.bytes.push(b'\n');
            block.lines += 1;
        });
        // The block stays as long as the conversation is open.
        block.bytes.shrink_to_fit();
        block
    }
}

/// The lines of a text as they were once. A clone shares them.
#[derive(Clone, Debug, Default)]
pub struct Snapshot(Vec<Arc<Block>>);

impl Snapshot {
    /// The lines of a text as they are now, all of them read.
    pub fn of(text: &dyn Text) -> Self {
        TextCopy::default().take(text)
    }

    /// The lines as a Unix file has them, in pieces.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|block| block.bytes.as_slice())
    }

    fn count(&self) -> usize {
        self.0.iter().map(|block| block.lines).sum()
    }

    fn size(&self) -> usize {
        self.0.iter().map(|block| block.bytes.len()).sum()
    }
}

/// The lines that were taken last, and what has changed since.
#[derive(Debug, Default)]
pub struct TextCopy {
    lines: Snapshot,
    /// All changes as one. The lines in between count as changed.
    change: Option<Change>,
}

impl TextCopy {
    /// The text has changed.
    pub fn changed(&mut self, next: Change) {
        self.change = Some(self.change.map_or(next, |was| was.then(next)));
    }

    /// The text has changed, and nothing else has changed in it since. Much of it is read at once, so that there is not all of a
    /// reply left for its end.
    pub fn written(&mut self, next: Change, text: &dyn Text) {
        let is_in_place = next.old_last == next.new_last;
        // Together, the lines between the two would count as changed.
        let is_apart =
            |was: &mut Change| next.first > was.new_last + BLOCK || (is_in_place && next.new_last + BLOCK < was.first);
        if let Some(was) = self.change.take_if(is_apart) {
            let before = (text.line_count() + next.old_last).saturating_sub(next.new_last);
            self.update(was, before, text);
        }
        self.changed(next);
        if let Some(change) = self.change.take_if(|change| change.new_last - change.first > READ_AT_ONCE) {
            self.update(change, text.line_count(), text);
        }
    }

    /// The lines as they are now.
    pub fn take(&mut self, text: &dyn Text) -> Snapshot {
        if let Some(change) = self.change.take() {
            self.update(change, text.line_count(), text);
        }
        // A file must not lose anything. If the host did not report a change, everything is read again.
        let is_right =
            self.lines.count() == text.line_count() && text.size().is_none_or(|size| size == self.lines.size());
        if !is_right {
            self.lines = Snapshot::default();
            let total = text.line_count();
            self.update(Change { first: 0, old_last: 0, new_last: total }, total, text);
        }
        self.lines.clone()
    }

    /// Reads the blocks again that a change touches. The one before it is read with them, so that text that is appended
    /// bit by bit does not become many small blocks. `total` is the number of lines after the change.
    fn update(&mut self, change: Change, total: usize, text: &dyn Text) {
        let known = self.lines.count();
        let blocks = &mut self.lines.0;
        let (mut from, mut first) = (0, 0);
        while let Some(block) = blocks.get(from).filter(|block| first + block.lines < change.first) {
            first += block.lines;
            from += 1;
        }
        let (mut to, mut old_last) = (from, first);
        while let Some(block) = blocks.get(to).filter(|_| old_last < change.old_last) {
            old_last += block.lines;
            to += 1;
        }
        let count = total.saturating_sub(known - old_last).saturating_sub(first);
        let pieces = count.div_ceil(BLOCK);
        let bound = |piece| first + count * piece / pieces;
        let read = (0..pieces).map(|piece| Arc::new(Block::read(text, bound(piece)..bound(piece + 1))));
        blocks.splice(from..to, read);
    }
}
