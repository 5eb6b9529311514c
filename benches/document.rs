//! The cost of the document: a table of times, each the best of a few runs.
//!
//! Compare the pairs: a keystroke and a delta must cost the same in a short document and in a long one.

#[path = "support/conversation.rs"]
mod support;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use flemma_chat::{Author, Change, Document, Ending, Provenance, ReplyWriter};
use flemma_config::Config;
use flemma_model::Event;
use flemma_tools::RetentionRules;
use serde_json::json;
use support::{conversation, message};

const RUNS: usize = 5;

fn main() {
    println!("{:<62}{:>12}", "", "best of 5");
    for lines in [1_000, 80_000, 400_000] {
        let text = conversation(lines);
        row(&format!("full parse, {lines} lines"), best(|| time(|| drop(black_box(Document::parse(&text))))));
        row(&format!("full parse with authors, {lines} lines"), best(|| time(|| drop(black_box(opened(&text))))));
        let different: Vec<String> = text.iter().enumerate().map(|(number, line)| format!("{line} {number}")).collect();
        let name = format!("full parse with authors, {lines} lines, no two the same");
        row(&name, best(|| time(|| drop(black_box(opened(&different))))));
    }
    let text = conversation(80_000);
    row("80,000 single lines changed by one command", best(|| single_lines(&text)));
    row("6,000 lines deleted one by one", best(|| deletions(&text)));
    for (name, text) in [
        ("1,000-line conversation", conversation(1_000)),
        ("80,000-line conversation", conversation(80_000)),
        ("one message of 80,000 lines", message(80_000)),
    ] {
        row(&format!("a keystroke in the last message, {name}"), best(|| keystrokes(&text, text.len() - 2)));
        row(&format!("a keystroke in the middle, {name}"), best(|| keystrokes(&text, text.len() / 2)));
        row(&format!("a line break in the middle, {name}"), best(|| line_breaks(&text, text.len() / 2)));
        row(&format!("a line break at the top with authors, {name}"), best(|| line_breaks_at_the_top(&text)));
        row(&format!("decorations of 60 lines, {name}"), best(|| decorations(&text)));
    }
    for (name, text) in [("empty", Vec::new()), ("80,000-line", conversation(80_000))] {
        row(&format!("a delta of four characters, {name} document (of 20,000)"), best(|| deltas(&text)));
    }
    let text = conversation(80_000);
    row("the first request, 80,000 lines", best(|| request(&text, true)));
    row("the next request, 80,000 lines", best(|| request(&text, false)));
    row("leaving old results out of a request, 80,000 lines", best(leaving_out));
}

/// Types into a line. Reports the time per key.
fn keystrokes(text: &[String], line: usize) -> Duration {
    const KEYS: u32 = 2_000;
    let mut text = text.to_vec();
    let mut document = Document::parse(&text);
    let spent = time(|| {
        for _ in 0..KEYS {
            text[line].push('x');
            black_box(document.update(Change { first: line, old_last: line + 1, new_last: line + 1 }, &text));
        }
    });
    spent / KEYS
}

/// Breaks a line. Reports only the time of the update, since the editor moves the lines.
fn line_breaks(text: &[String], line: usize) -> Duration {
    const KEYS: u32 = 200;
    let mut text = text.to_vec();
    let mut document = Document::parse(&text);
    let mut spent = Duration::ZERO;
    for _ in 0..KEYS {
        text.insert(line, String::new());
        spent += time(|| {
            black_box(document.update(Change { first: line, old_last: line, new_last: line + 1 }, &text));
        });
    }
    spent / KEYS
}

/// Reads a file as the editor does when it is opened.
fn opened(text: &[String]) -> (Document, Provenance) {
    let (mut document, mut provenance) = (Document::default(), Provenance::default());
    let change = Change { first: 0, old_last: 0, new_last: text.len() };
    provenance.follow(&mut document, change, Author::Stranger, &text);
    (document, provenance)
}

/// Like [`line_breaks`], but every following line has to move together with its author.
fn line_breaks_at_the_top(text: &[String]) -> Duration {
    const KEYS: u32 = 200;
    let mut text = text.to_vec();
    let (mut document, mut provenance) = opened(&text);
    let mut spent = Duration::ZERO;
    for step in 0..KEYS {
        text.insert(1, String::new());
        let change = Change { first: 1, old_last: 1, new_last: 2 };
        let hand = Author::User { step: step.into() };
        spent += time(|| {
            black_box(provenance.follow(&mut document, change, hand, &text));
        });
    }
    spent / KEYS
}

/// The changes that `:undo` of a `:substitute` reports: every line separately.
fn single_lines(text: &[String]) -> Duration {
    let (mut document, mut provenance) = opened(text);
    let text: Vec<String> = text.iter().map(|line| format!("{line} x")).collect();
    time(|| {
        black_box(provenance.follow_lines(&mut document, 0..text.len(), 1, &text));
    })
}

/// The changes that `:global` with `:delete` reports: one deleted line after the other. Reports only the time of the updates.
fn deletions(text: &[String]) -> Duration {
    let mut text = text.to_vec();
    let (mut document, mut provenance) = opened(&text);
    let mut spent = Duration::ZERO;
    for step in 0..6_000 {
        let first = step * 10;
        text.remove(first);
        let change = Change { first, old_last: first + 1, new_last: first };
        spent += time(|| {
            black_box(provenance.follow(&mut document, change, Author::User { step: 1 }, &text));
        });
    }
    spent
}

fn decorations(text: &[String]) -> Duration {
    const TIMES: u32 = 2_000;
    let document = Document::parse(&text);
    let middle = text.len() / 2;
    time(|| {
        for _ in 0..TIMES {
            black_box(flemma_chat::decorations(&document, middle..middle + 60));
        }
    }) / TIMES
}

/// Streams a reply of 20,000 deltas. Reports the time per delta, including text and structure.
fn deltas(text: &[String]) -> Duration {
    const DELTAS: u32 = 20_000;
    let mut text = text.to_vec();
    let mut document = Document::parse(&text);
    let words = ["word", "s in", " pro", "se, ", "and\n", "\nnow", " `x`"];
    let events: Vec<Event> =
        words.iter().cycle().take(DELTAS as usize).map(|word| Event::Text((*word).to_owned())).collect();
    let spent = time(|| {
        let mut reply = ReplyWriter::open(&text);
        for event in &events {
            reply.push(event);
            for edit in reply.take() {
                edit.apply(&mut text);
                black_box(document.update(edit.change(), &text));
            }
        }
        for edit in reply.close(Ending::Complete) {
            edit.apply(&mut text);
            document.update(edit.change(), &text);
        }
    });
    assert!(document == Document::parse(&text), "the streamed document is not the parsed one");
    spent / DELTAS
}

/// Builds a request, either from scratch or when only the last message is new.
fn request(text: &[String], first: bool) -> Duration {
    let mut text = text.to_vec();
    let mut document = Document::parse(&text);
    let spent = time(|| drop(black_box(document.transcript(&text))));
    if first {
        return spent;
    }
    let line = text.len() - 1;
    text[line].push('x');
    document.update(Change { first: line, old_last: line + 1, new_last: line + 1 }, &text);
    time(|| drop(black_box(document.transcript(&text))))
}

/// Leaves out old results, as every request does where the user wants it.
fn leaving_out() -> Duration {
    let lines = conversation(80_000).into_iter().map(|line| match line.as_str() {
        "    run();" => "    run();".repeat(100),
        _ => line,
    });
    let text: Vec<String> = lines.chain(["@You:".to_owned(), "Next".to_owned()]).collect();
    let sent = Document::parse(&text).transcript(&text);
    let options = json!({ "tools": { "retention": { "mode": "count", "value": 10 } } });
    let (Ok(sent), Ok(config)) = (sent, Config::from_layers(&[options])) else { return Duration::MAX };
    let rules = RetentionRules::new(&config.tools, []);
    let mut messages = sent.messages.clone();
    let spent = time(|| rules.apply(&mut messages));
    let changed = messages.iter().zip(&sent.messages).filter(|(sent, whole)| sent != whole).count();
    assert!(changed > 2_000, "only {changed} results were left out");
    spent
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn best(mut run: impl FnMut() -> Duration) -> Duration {
    (0..RUNS).map(|_| run()).min().unwrap_or_default()
}

fn row(name: &str, time: Duration) {
    println!("{name:<62}{:>12}", format!("{time:.1?}"));
}
