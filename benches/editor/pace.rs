//! A reply at the pace of a model: 200 pieces per second, for the duration of a long answer.

use std::{iter, time::Duration};

use serde_json::json;

use super::{
    anthropic::{Stream, text_delta},
    http::Reply,
    lab::{Lab, Measured, ms, row, title},
};

/// The number of simultaneous replies.
const STREAMS: usize = 10;

/// Pieces per second.
const PACE: u32 = 200;

/// The numbers of pieces after which the cost is recorded. With the word `quick` on the command line, there are two.
const MARKS: [u32; 3] = [500, 2_000, 8_000];

/// The shapes of a reply: a name, the beginning, and the repeated part.
const SHAPES: [(&str, &str, &str); 4] = [
    ("a paragraph", "", "The first thing to look at is the `parser`, which **reads** every line and says so. "),
    ("a list", "", "- **It** reads every line, and then says what `it` is.\n"),
    ("a code fence", "```lua\n", "local value = read(line) -- every line\nif value then\n  say(value)\nend\n"),
    ("prose", "", "The first thing to look at is the `parser`. It **reads** every line.\n\nThen it says so.\n\n"),
];

/// Measures a reply of each shape, and a loop that only inserts it.
pub fn measure() {
    let columns = ["to 500", "to 2,000", "to 8,000", "stall", "screens/s", "wakes/s", "memory"];
    title(&format!("CPU share at {PACE} pieces a second"), &columns);
    for (name, start, body) in SHAPES {
        let pieces = pieces(start, body);
        report(&format!("{name}: a bare Lua loop"), &bare(&pieces));
        report(&format!("{name}: Flemma"), &flemma(&pieces));
    }
}

/// Measures several simultaneous replies.
pub fn measure_many() {
    title(
        &format!("{STREAMS} replies of 500 pieces at that pace at once"),
        &["CPU share", "stall", "screens/s", "wakes/s"],
    );
    let measured = many();
    let wall = measured.get("wall");
    let a_second = |name| format!("{:.0}", measured.get(name) / wall * 1000.0);
    let share = format!("{:.1} %", measured.get("cpu") / wall * 100.0);
    row("Flemma, each in a window", &[share, ms(measured.get("stall")), a_second("screens"), a_second("wakes")]);
}

fn report(name: &str, measured: &Measured) {
    let mut columns = Vec::new();
    let (mut wall, mut cpu) = (0.0, 0.0);
    for mark in measured.marks() {
        columns.push(format!("{:.1} %", (mark.get("cpu") - cpu) / (mark.get("wall") - wall) * 100.0));
        (wall, cpu) = (mark.get("wall"), mark.get("cpu"));
    }
    let seconds = measured.get("wall") / 1000.0;
    columns.push(ms(measured.get("stall")));
    columns.extend(["screens", "wakes"].map(|name| format!("{:.0}", measured.get(name) / seconds)));
    columns.push(format!("+{:.0} MiB", measured.get("memory") - measured.get("before")));
    row(name, &columns);
}

/// Pieces of four characters each, as many as in the longest reply.
fn pieces(start: &str, body: &str) -> Vec<String> {
    let mut letters = start.chars().chain(body.chars().cycle());
    iter::repeat_with(|| letters.by_ref().take(4).collect()).take(longest()).collect()
}

fn marks() -> &'static [u32] {
    if std::env::args().any(|argument| argument == "quick") { &MARKS[..2] } else { &MARKS }
}

fn longest() -> usize {
    marks().iter().copied().max().unwrap_or_default() as usize
}

/// The times at which the marks are reached, in milliseconds.
fn times() -> Vec<f64> {
    marks().iter().map(|pieces| f64::from(*pieces) / f64::from(PACE) * 1000.0 - 20.0).collect()
}

fn bare(pieces: &[String]) -> Measured {
    let mut lab = Lab::start(&[("notes.txt", "@You:\nGo on.\n")], true, []);
    // As in a conversation: with these options, Neovim takes longer to draw any long line.
    lab.nvim.command("setlocal linebreak breakindent");
    let before = lab.memory();
    lab.nvim.lua("Probe.pieces, Probe.marks = ...", &[json!(pieces), json!(times())]);
    let period = 1000 / PACE;
    lab.measure(&format!("Probe.trickle(Probe.pieces, {}, {period}, Probe.marks)", pieces.len())).with("before", before)
}

fn flemma(pieces: &[String]) -> Measured {
    let mut lab = Lab::start(&[("notes.chat", "@You:\nGo on.\n")], true, [reply(pieces)]);
    let before = lab.memory();
    lab.nvim.lua("Probe.marks = ...", &[json!(times())]);
    lab.measure("Probe.send(Probe.marks)").with("before", before)
}

/// Conversations for the simultaneous replies, all of them on the screen.
fn many() -> Measured {
    let (_, start, body) = SHAPES[0];
    let pieces = &pieces(start, body)[..500];
    let names: Vec<String> = (0..STREAMS).map(|n| format!("notes-{n}.chat")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "@You:\nGo on.\n")).collect();
    let mut lab = Lab::start(&files, false, iter::repeat_n(reply(pieces), STREAMS));
    // Everything is loaded now.
    lab.measure(&format!("Probe.open('{}', Probe.is_parsed)", names[0]));
    lab.rest();
    lab.nvim.lua("Probe.names = ...", &[json!(names)]);
    lab.measure("Probe.send_all(Probe.names)")
}

fn reply(pieces: &[String]) -> Reply {
    let stream = Stream::new().text(&[]).end("end_turn");
    let [start, open, rest @ ..] = stream.events() else { panic!("a stream has a beginning") };
    let begin = Reply::stream().chunk(start.as_str()).chunk(open.as_str());
    let period = Duration::from_secs(1) / PACE;
    let reply = pieces.iter().fold(begin, |reply, piece| reply.tick(period).chunk(text_delta(0, piece)));
    rest.iter().fold(reply, |reply, event| reply.chunk(event.as_str()))
}
