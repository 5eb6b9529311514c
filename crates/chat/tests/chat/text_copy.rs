//! The copy of a text that its file is written from: it is the text, and only what has changed is read again.

use std::{cell::Cell, ops::Range};

use flemma_chat::{Change, Snapshot, Text, TextCopy};
use proptest::{prelude::*, sample::Index};

/// A text whose lines need not be UTF-8, and which counts how many of them are read.
struct Counted {
    lines: Vec<Vec<u8>>,
    read: Cell<usize>,
    knows_size: bool,
}

impl Text for Counted {
    fn line_count(&self) -> usize {
        self.lines.len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        self.read_bytes(lines, &mut |line| each(&String::from_utf8_lossy(line)));
    }

    fn read_bytes(&self, lines: Range<usize>, each: &mut dyn FnMut(&[u8])) {
        self.read.set(self.read.get() + lines.len());
        self.lines[lines].iter().for_each(|line| each(line));
    }

    fn size(&self) -> Option<usize> {
        self.knows_size.then(|| self.lines.iter().map(|line| line.len() + 1).sum())
    }
}

impl Counted {
    fn new(lines: usize) -> Self {
        let lines = (0..lines).map(|line| format!("line {line}").into_bytes()).collect();
        Self { lines, read: Cell::new(0), knows_size: true }
    }

    /// Replaces lines, and says what that changed.
    fn splice(&mut self, lines: Range<usize>, new: &[&[u8]]) -> Change {
        let change = Change { first: lines.start, old_last: lines.end, new_last: lines.start + new.len() };
        self.lines.splice(lines, new.iter().map(|line| line.to_vec()));
        change
    }

    /// What its file has.
    fn file(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in &self.lines {
            bytes.extend(line.iter().map(|byte| if *byte == b'\n' { 0 } else { *byte }));
            bytes.push(b'\n');
        }
        bytes
    }

    /// How many lines are read to take the copy.
    fn reads(&self, copy: &mut TextCopy) -> usize {
        self.read.set(0);
        copy.take(self);
        self.read.get()
    }

    /// The same, after which the copy is the text.
    fn take(&self, copy: &mut TextCopy) -> usize {
        let read = self.reads(copy);
        assert_eq!(bytes(&copy.take(self)), self.file());
        read
    }
}

fn bytes(lines: &Snapshot) -> Vec<u8> {
    lines.pieces().collect::<Vec<_>>().concat()
}

#[test]
fn only_what_has_changed_is_read_again() {
    let mut text = Counted::new(80_000);
    let mut copy = TextCopy::default();
    assert_eq!(text.take(&mut copy), 80_000, "at first everything");
    assert_eq!(text.take(&mut copy), 0, "nothing has changed");
    for round in 0..2_000 {
        let last = text.lines.len();
        copy.changed(text.splice(last..last, &[b"**Tool Use:** `read`", b"", b"@You:"]));
        copy.changed(text.splice(last + 1..last + 2, &[b"a result", b"of two lines"]));
        let read = text.reads(&mut copy);
        assert!(read <= 520, "round {round} read {read} lines");
    }
    copy.changed(text.splice(40_000..40_001, &[]));
    assert!(text.take(&mut copy) < 1_100, "a change in the middle");
    let before = copy.take(&text);
    let file = text.file();
    copy.changed(text.splice(0..1, &[b"another first line"]));
    assert!(text.take(&mut copy) < 1_100);
    assert_eq!(bytes(&before), file, "what another thread has does not change");
}

#[test]
fn a_change_that_was_not_reported_is_copied_all_the_same() {
    for knows_size in [true, false] {
        let mut text = Counted { knows_size, ..Counted::new(3_000) };
        let mut copy = TextCopy::default();
        text.take(&mut copy);
        text.splice(7..8, &[]);
        assert_eq!(text.take(&mut copy), 2_999);
        // A wrong report does no harm either.
        copy.changed(Change { first: 9_000, old_last: 9_100, new_last: 9_050 });
        text.take(&mut copy);
        copy.changed(Change { first: 10, old_last: 20, new_last: 10 });
        text.take(&mut copy);
    }
    let mut text = Counted::new(3_000);
    let mut copy = TextCopy::default();
    text.take(&mut copy);
    text.splice(7..8, &[b"as many lines, but other bytes"]);
    assert_eq!(text.take(&mut copy), 3_000);
}

proptest! {
    #[test]
    fn the_copy_is_the_text_whatever_was_changed(
        lines in 0..2_000_usize,
        rounds in prop::collection::vec(
            prop::collection::vec((any::<Index>(), any::<Index>(), 0..3_000_usize, any::<u8>()), 0..4),
            1..12,
        ),
    ) {
        let mut text = Counted { knows_size: false, ..Counted::new(lines) };
        let mut copy = TextCopy::default();
        text.take(&mut copy);
        for changes in rounds {
            for (at, end, count, byte) in changes {
                let (at, end) = (at.index(text.lines.len() + 1), end.index(text.lines.len() + 1));
                let line = [byte, b'x', byte];
                let new = vec![line.as_slice(); count];
                let change = text.splice(at.min(end)..at.max(end), &new);
                // Whoever writes says so at once.
                if byte % 2 == 0 { copy.written(change, &text) } else { copy.changed(change) }
            }
            text.take(&mut copy);
        }
    }
}
