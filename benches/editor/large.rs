//! Edits of many lines, and sending, in a conversation of 80,000 lines. The same edits are measured in a Markdown file.
//!
//! Each file is open in an editor of its own, and the runs alternate between them, so that the load of the machine is the
//! same for both.

use super::{
    anthropic::Stream,
    conversation::conversation,
    http::Reply,
    lab::{Lab, Measured, file, row, spread, title},
};

const RUNS: usize = 7;

/// The edits: a name, a preparation that is not measured, and the measured part.
const EDITS: [(&str, &str, &str); 6] = [
    (":%s, every line", "", "vim.cmd('silent %s/$/ x/')"),
    ("undo of that", "", "vim.cmd('silent undo')"),
    ("paste of 20,000 lines", "", "vim.paste(Probe.lines, -1)"),
    ("undo of that", "", "vim.cmd('silent undo')"),
    ("redo of that", "", "vim.cmd('silent redo')"),
    ("deletion of all lines", "vim.cmd('silent undo')", "vim.cmd('silent %delete _')"),
];

/// Measures edits and sending.
pub fn measure() {
    title("80,000 lines, median of 7 (least-most)", &["until drawn", "stall"]);
    edits();
    sending();
}

fn edits() {
    let text = file(&conversation(80_000)) + "\n@You:\nGo on.\n";
    let mut labs = [("a Markdown file", "notes.md"), ("Flemma", "notes.chat")].map(|(name, path)| {
        let mut lab = Lab::start(&[(path, &text)], true, []);
        let line = "A line that was copied from somewhere else, with a number: ";
        let lines = format!("Probe.lines = {{}} for i = 1, 20000 do Probe.lines[i] = '{line}' .. i end");
        lab.nvim.lua(&lines, &[]);
        (name, lab, EDITS.map(|_| Vec::new()))
    });
    for _ in 0..RUNS {
        for index in 0..EDITS.len() {
            let (_, before, edit) = EDITS[index];
            for (_, lab, found) in &mut labs {
                lab.nvim.lua(before, &[]);
                lab.rest();
                found[index].push(lab.measure(&format!("Probe.edit(function() {edit} end)")));
            }
        }
        for (_, lab, _) in &mut labs {
            lab.nvim.lua("vim.cmd('silent undo')", &[]);
        }
    }
    for (index, (edit, ..)) in EDITS.iter().enumerate() {
        for (name, _, found) in &labs {
            report(&format!("{edit}: {name}"), &found[index], &["took", "stall"]);
        }
    }
}

/// How long the editor does not respond to keys, from the key that sends to the end of a reply of one word.
fn sending() {
    title("a request and a reply of one word, median of 7 (least-most)", &["stall"]);
    let ask = "@You:\nGo on.\n";
    let long = file(&conversation(80_000)) + "\n" + ask;
    for (name, text) in [("empty", ask), ("80,000 lines", &long)] {
        let (mut first, mut next) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let replies = (0..2).map(|_| {
                let stream = Stream::new().text(&["Yes."]).end("end_turn");
                stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str()))
            });
            let mut lab = Lab::start(&[("notes.chat", text)], true, replies);
            first.push(lab.measure("Probe.send_to_rest()"));
            lab.nvim.input("GoAnd now?<Esc>");
            lab.rest();
            next.push(lab.measure("Probe.send_to_rest()"));
        }
        report(&format!("the first request: {name}"), &first, &["stall"]);
        report(&format!("the next request: {name}"), &next, &["stall"]);
    }
}

fn report(name: &str, found: &[Measured], columns: &[&str]) {
    row(name, &columns.iter().map(|column| spread(found, column)).collect::<Vec<_>>());
}
