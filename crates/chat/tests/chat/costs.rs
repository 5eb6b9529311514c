//! What is known of messages that did not change is kept: a send and a round read what is new.

use std::{cell::Cell, ops::Range};

use flemma_chat::{Author, Change, Document, Provenance, Status, Text, TextCopy};
use proptest::prelude::*;

/// A text that counts how many of its lines are read.
struct Counted {
    lines: Vec<String>,
    read: Cell<usize>,
}

impl Counted {
    fn new(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect(), read: Cell::new(0) }
    }

    /// The lines that some work reads.
    fn reads(&self, work: impl FnOnce(&Self)) -> usize {
        self.read.set(0);
        work(self);
        self.read.get()
    }
}

impl Text for Counted {
    fn line_count(&self) -> usize {
        self.lines.len()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        let lines = self.lines.get(lines.start..lines.end.min(self.lines.len())).unwrap_or_default();
        self.read.set(self.read.get() + lines.len());
        lines.iter().for_each(|line| each(line));
    }
}

const ROUND: &str = "@You:\nPlease.\n\n@Assistant:\n<thinking anthropic:signature=\"abc\">\nYes.\n</thinking>\n\n\
    **Tool Use:** `read` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n```\nout\n```\n\n@Assistant:\nDone.\n\n";

/// The lines that are read for a request with one more message, after a first one: by the update, by the checks, and to
/// build it.
fn second_request(rounds: usize) -> usize {
    let mut text = Counted::new(&format!("{}@You:\nGo on.\n", ROUND.repeat(rounds)));
    let mut document = Document::parse(&text);
    let check = |document: &mut Document, text: &Counted| {
        assert_eq!(flemma_chat::diagnostics(document, text), []);
        assert_eq!(flemma_chat::unsent(document.messages(), text), []);
        assert_eq!(document.transcript(text).unwrap().messages.len() % 4, 1);
    };
    let whole = text.reads(|text| check(&mut document, text));
    assert!(whole >= text.lines.len(), "the first request reads everything");
    let first = text.lines.len();
    text.lines.extend(ROUND.lines().skip(3).chain(["@You:", "And on."]).map(str::to_owned));
    let new_last = text.lines.len();
    text.reads(|text| {
        document.update(Change { first, old_last: first, new_last }, text);
        check(&mut document, text);
    })
}

#[test]
fn the_next_request_reads_only_what_is_new() {
    let short = second_request(5);
    assert_eq!(short, second_request(500));
    assert!(short < 100, "{short} lines were read for a round of 23");
}

#[test]
fn changes_of_single_lines_read_those_lines_and_no_others() {
    for rounds in [5, 500] {
        let mut text = Counted::new(&ROUND.repeat(rounds));
        let (mut document, mut provenance) = (Document::default(), Provenance::default());
        let all = Change { first: 0, old_last: 0, new_last: text.lines.len() };
        provenance.follow(&mut document, all, Author::Stranger, &text);
        let changed: Vec<usize> = (0..5).map(|round| round * 23 + 1).collect();
        changed.iter().for_each(|line| text.lines[*line].push_str(" more"));
        let read = text.reads(|text| {
            for line in &changed {
                provenance.follow_lines(&mut document, *line..line + 1, 1, text);
            }
        });
        assert!(read <= 2 * changed.len(), "{read} lines for {}", changed.len());
    }
}

#[test]
fn lines_that_go_one_by_one_are_not_looked_at_again_and_again() {
    let mut text = Counted::new(&ROUND.repeat(200));
    let (mut document, mut provenance) = (Document::default(), Provenance::default());
    let all = Change { first: 0, old_last: 0, new_last: text.lines.len() };
    provenance.follow(&mut document, all, Author::Stranger, &text);
    let mut read = 0;
    // As `:g/out/delete` does.
    while let Some(first) = text.lines.iter().position(|line| line == "out") {
        text.lines.remove(first);
        read += text.reads(|text| {
            let change = Change { first, old_last: first + 1, new_last: first };
            provenance.follow(&mut document, change, Author::User { step: 1 }, text);
        });
    }
    assert!(read < 10 * 200, "{read} lines were read for 200 that went");
}

#[test]
fn open_calls_are_read_once_until_they_change() {
    let call = |id: usize| format!("**Tool Use:** `bash` (`{id}`)\n\n```json\n{{\"command\":\"ls\"}}\n```\n");
    let block = |id: usize| format!("**Tool Result:** `{id}`\n\n```flemma:tool status=pending\n```\n");
    let all = |each: &dyn Fn(usize) -> String| (0..100).map(each).collect::<Vec<_>>().join("\n");
    let mut text = Counted::new(&format!("@Assistant:\n{}\n@You:\n{}", all(&call), all(&block)));
    let mut document = Document::parse(&text);
    assert_eq!(text.reads(|text| assert_eq!(document.calls().states().len(), 100, "{:?}", text.lines)), 0);
    assert!(text.reads(|text| drop(document.calls().find(&"50".into(), text))) <= 10, "one call is read for one");
    text.reads(|text| drop(document.calls().open(text)));
    assert_eq!(text.reads(|text| assert_eq!(document.calls().open(text).len(), 100)), 0);
    let line = text.lines.iter().rposition(|line| line.contains("pending")).unwrap();
    text.lines[line] = "```flemma:tool status=approved".to_owned();
    document.update(Change { first: line, old_last: line + 1, new_last: line + 1 }, &text);
    let read = text.reads(|text| {
        let last = document.calls().open(text).pop().unwrap();
        assert_eq!(last.placeholder.unwrap().block.status, Status::Approved);
    });
    assert!(read <= 5, "{read} lines for one block");
}

#[test]
fn the_end_of_a_long_reply_reads_little_of_it() {
    let mut text = Counted::new("@You:\nPlease.\n\n@Assistant:\n<thinking>\nthought");
    let (mut document, mut provenance, mut copy) = (Document::default(), Provenance::default(), TextCopy::default());
    let (tag, count) = (4, text.lines.len());
    provenance.follow(&mut document, Change { first: 0, old_last: 0, new_last: count }, Author::Stranger, &text);
    let mut write = |text: &mut Counted, first: usize, length: usize, new: &[String], author: Author| {
        text.lines.splice(first..first + length, new.iter().cloned());
        let change = Change { first, old_last: first + length, new_last: first + new.len() };
        text.reads(|text| {
            copy.written(change, text);
            provenance.follow(&mut document, change, author, text);
            if author == Author::Flemma {
                copy.take(text);
            }
        })
    };
    for piece in 0..200 {
        let lines: Vec<String> = (0..500).map(|line| format!("thought {piece} {line}")).collect();
        let last = text.lines.len();
        write(&mut text, last, 0, &lines, Author::Model);
    }
    let signed = write(&mut text, tag, 1, &["<thinking anthropic:signature=\"abc\">".to_owned()], Author::Model);
    let last = text.lines.len();
    let ended = write(&mut text, last, 0, &["</thinking>".to_owned()], Author::Flemma);
    assert!(signed + ended < 20_000, "{signed} and {ended} of 100,000 lines");
}

fn a_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("@You:".to_owned()),
        Just("@Assistant:".to_owned()),
        Just("@System:".to_owned()),
        Just("**Tool Use:** `read` (`a`)".to_owned()),
        Just("**Tool Use:** `read` (`b`)".to_owned()),
        Just("**Tool Use:** broken".to_owned()),
        Just("**Tool Result:** `a`".to_owned()),
        Just("**Tool Result:** `b`".to_owned()),
        Just("```".to_owned()),
        Just("```json".to_owned()),
        Just("```flemma:tool status=odd".to_owned()),
        Just("```flemma:tool status=pending".to_owned()),
        Just("<thinking vertx:signature=\"x\">".to_owned()),
        Just("<thinking>".to_owned()),
        Just("</thinking>".to_owned()),
        Just("prose".to_owned()),
        Just(String::new()),
    ]
}

proptest! {
    #[test]
    fn what_is_kept_of_checks_makes_no_difference(
        lines in prop::collection::vec(a_line(), 0..40),
        changes in prop::collection::vec((any::<u8>(), 0..4usize, prop::collection::vec(a_line(), 0..4)), 1..12),
    ) {
        let mut text = lines;
        let mut document = Document::parse(&text);
        for (at, length, with) in changes {
            let _ = (flemma_chat::diagnostics(&document, &text), flemma_chat::unsent(document.messages(), &text), document.transcript(&text));
            let first = usize::from(at) % (text.len() + 1);
            let old_last = (first + length).min(text.len());
            let new_last = first + with.len();
            text.splice(first..old_last, with);
            document.update(Change { first, old_last, new_last }, &text);
            let mut fresh = Document::parse(&text);
            prop_assert_eq!(flemma_chat::diagnostics(&document, &text), flemma_chat::diagnostics(&fresh, &text));
            prop_assert_eq!(flemma_chat::unsent(document.messages(), &text), flemma_chat::unsent(fresh.messages(), &text));
            prop_assert_eq!(document.transcript(&text), fresh.transcript(&text));
        }
    }
}
