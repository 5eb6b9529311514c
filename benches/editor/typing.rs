//! The time from a key in the last message until it is drawn.

use super::{
    conversation::conversation,
    lab::{Lab, Measured, file, row, spread, title},
};

const KEYS: usize = 200;

const RUNS: usize = 5;

/// The number of keys between two line breaks.
const WIDTH: usize = 50;

/// Scrolls so that the tag of thinking, which is hidden, is the first line of the window.
const HIDDEN: &str = "vim.fn.winrestview({ topline = vim.fn.search('^<thinking', 'bnW') })";

/// Measures keys in a conversation and in other files.
pub fn measure() {
    title("a key, until it is on the screen; median of 5 (least-most)", &["median", "worst", "CPU a key"]);
    for (size, lines) in [("1,000 lines", 1_000), ("80,000 lines", 80_000)] {
        let text = file(&conversation(lines)) + "\n@You:\nGo on.\n";
        let mut runs = [("a plain text file", "notes.txt"), ("a Markdown file", "notes.md"), ("Flemma", "notes.chat")]
            .map(|(name, path)| (name, path, Vec::new()));
        for _ in 0..RUNS {
            for (_, path, found) in &mut runs {
                found.push(keys(&mut Lab::start(&[(path, &text)], true, []), ""));
            }
        }
        for (name, _, found) in &runs {
            report(&format!("{size}: {name}"), found);
        }
    }
    let text = file(&conversation(1_000)) + "\n@You:\nGo on.\n";
    let hidden = (0..RUNS).map(|_| keys(&mut Lab::start(&[("notes.chat", &text)], true, []), HIDDEN));
    report("1,000 lines: Flemma, the first line hidden", &hidden.collect::<Vec<_>>());
}

fn report(name: &str, found: &[Measured]) {
    row(name, &["median", "worst", "cpu"].map(|column| spread(found, column)));
}

fn keys(lab: &mut Lab, scroll: &str) -> Measured {
    lab.nvim.input("G");
    lab.rest();
    lab.nvim.lua(scroll, &[]);
    lab.press("A");
    lab.rest();
    lab.nvim.lua("Probe.start()", &[]);
    let mut times: Vec<f64> = (1..=KEYS)
        .map(|number| lab.press(if number % WIDTH == 0 { "<CR>" } else { "x" }).as_secs_f64() * 1e3)
        .collect();
    let cpu = lab.nvim.lua("return Probe.stop().cpu", &[]).as_f64().unwrap_or(f64::NAN);
    times.sort_by(f64::total_cmp);
    Measured::of("median", times[KEYS / 2]).with("worst", times[KEYS - 1]).with("cpu", cpu / KEYS as f64)
}
