//! A reply that arrives as fast as it can be processed.

use std::iter;

use serde_json::json;

use super::{
    anthropic::{Stream, text_delta},
    conversation::conversation,
    http::Reply,
    lab::{Lab, Measured, file, row, spread, title},
};

const DELTAS: usize = 20_000;

const RUNS: usize = 5;

/// The number of deltas that the bare loop inserts between two redraws.
const SLICE: usize = 100;

/// Four characters each: prose with a line break every fifteen deltas, and occasionally a list and code.
const PIECES: [&str; 45] = [
    "The ", "firs", "t th", "ing ", "to l", "ook ", "at i", "s th", "e `p", "arse", "r`, ", "whic", "h re", "ads.",
    "..\n\n", "- **", "It**", " rea", "ds e", "very", " lin", "e, a", "nd t", "hen ", "says", " wha", "t it", " is,",
    " so.", "\n\n- ", "One ", "more", " ite", "m wi", "th *", "word", "s* o", "f it", "s ow", "n, a", "nd a", "n en",
    "d to", " it.", " So\n",
];

/// Measures the stream, and a loop that only inserts it.
pub fn measure() {
    let name = format!("{DELTAS} deltas of four characters, median of 5 (least-most)");
    title(&name, &["wall", "CPU", "stall", "screens"]);
    let ask = "@You:\nGo on.\n";
    let long = file(&conversation(80_000)) + "\n" + ask;
    for (name, text) in [("empty", ask), ("80,000 lines", &long)] {
        let (mut alone, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            alone.push(bare(text));
            ours.push(flemma(text));
        }
        report(&format!("{name}: a bare Lua loop"), &alone);
        report(&format!("{name}: Flemma"), &ours);
    }
}

fn report(name: &str, found: &[Measured]) {
    let mut columns: Vec<String> = ["wall", "cpu", "stall"].map(|column| spread(found, column)).into();
    columns.extend(found.first().map(|measured| measured.get("screens").to_string()));
    row(name, &columns);
}

/// A loop that only inserts as much.
pub fn bare(text: &str) -> Measured {
    let mut lab = Lab::start(&[("notes.txt", text)], true, []);
    let pieces = json!(PIECES.as_slice());
    lab.nvim.lua("Probe.pieces = ...", &[pieces]);
    let measured = lab.measure(&format!("Probe.insert(Probe.pieces, {DELTAS}, {SLICE})"));
    check(&mut lab);
    measured
}

fn flemma(text: &str) -> Measured {
    let mut lab = Lab::start(&[("notes.chat", text)], true, [reply()]);
    let measured = lab.measure("Probe.send()");
    check(&mut lab);
    measured
}

/// Checks that the whole reply has arrived.
fn check(lab: &mut Lab) {
    let text = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')";
    let lines = lab.nvim.lua(&format!("return select(2, {text}:gsub('One more item', ''))"), &[]);
    let expected = DELTAS / PIECES.len() + usize::from(DELTAS % PIECES.len() > 32);
    assert_eq!(lines.as_u64(), u64::try_from(expected).ok(), "the whole reply is in the buffer");
}

fn reply() -> Reply {
    let stream = Stream::new().text(&[]).end("end_turn");
    let [start, open, rest @ ..] = stream.events() else { panic!("a stream has a beginning") };
    let deltas = PIECES.iter().cycle().take(DELTAS).map(|piece| text_delta(0, piece));
    let events = iter::once(start.clone()).chain([open.clone()]).chain(deltas).chain(rest.iter().cloned());
    events.fold(Reply::stream(), |reply, event| reply.chunk(event))
}
