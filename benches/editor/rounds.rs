//! Rounds of tools, one after the other, on autopilot.

use serde_json::json;

use super::{
    anthropic::Stream,
    conversation::conversation,
    http::Reply,
    lab::{Lab, Measured, file, row, spread, title},
    stream,
};

const ROUNDS: usize = 50;

const RUNS: usize = 3;

/// Measures rounds from one request to the next.
pub fn measure() {
    title(
        &format!("a round of {ROUNDS}, each with one `read`; median of {RUNS}"),
        &["first five", "last five", "stall", "main thread"],
    );
    let ask = "@You:\nGo on.\n";
    let long = file(&conversation(80_000)) + "\n" + ask;
    let mut runs = [("empty", ask, Vec::new()), ("80,000 lines", long.as_str(), Vec::new())];
    for _ in 0..RUNS {
        for (_, text, found) in &mut runs {
            found.push(rounds(text));
        }
    }
    for (name, _, found) in &runs {
        row(name, &["first", "last", "stall", "main"].map(|column| spread(found, column)));
    }
    let alone: Vec<_> = (0..RUNS).map(|_| stream::bare(ask)).collect();
    let nothing = String::new;
    row("a bare Lua loop of 20,000 insertions", &[nothing(), nothing(), nothing(), spread(&alone, "main")]);
}

fn rounds(text: &str) -> Measured {
    let read: String = (1..200).map(|line| format!("line {line} of the file that is read\n")).collect();
    let mut lab = Lab::start(&[("notes.chat", text), ("notes.md", &read)], true, replies());
    let measured = lab.measure("Probe.requests()");
    let times = measured.list("times");
    assert_eq!(times.len(), ROUNDS + 1, "every round asks once");
    let mean = |from: usize| (times[from + 5] - times[from]) / 5.0;
    let main = measured.get("main") / ROUNDS as f64;
    measured.with("first", mean(0)).with("last", mean(ROUNDS - 5)).with("main", main)
}

fn replies() -> impl Iterator<Item = Reply> {
    let calls = (1..=ROUNDS).map(|round| {
        let input = json!({"label": "more", "path": "notes.md", "offset": round, "limit": 20}).to_string();
        Stream::new()
            .text(&["I look at the next lines."])
            .tool_use(&format!("toolu_{round}"), "read", &[&input])
            .end("tool_use")
    });
    let last = Stream::new().text(&["That was all."]).end("end_turn");
    calls
        .chain([last])
        .map(|stream| stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())))
}
