//! `setup()`, and opening a file.

use std::iter;

use super::{
    conversation::conversation,
    lab::{Lab, Measured, file, row, spread, title},
};

const RUNS: usize = 5;

/// Measures each in an editor that has not opened anything yet.
pub fn measure() {
    title("opening a file, median of 5 (least-most)", &["first screen", "all read", "CPU", "stall"]);
    let setup: Vec<_> = iter::repeat_with(setup).take(RUNS).collect();
    row("setup(), the library loaded", &[spread(&setup, "took")]);
    for (size, lines) in [("30 lines", 36), ("80,000 lines", 80_000), ("400,000 lines", 400_000)] {
        let text = file(&conversation(lines)) + "\n@You:\nGo on.\n";
        let mut runs = [("a plain text file", "notes.txt"), ("a Markdown file", "notes.md"), ("Flemma", "notes.chat")]
            .map(|(name, path)| (name, path, Vec::new()));
        for _ in 0..RUNS {
            for (_, path, found) in &mut runs {
                found.push(open(path, &text));
            }
        }
        for (name, _, found) in &runs {
            row(&format!("{size}: {name}"), &["screen", "read", "cpu", "stall"].map(|column| spread(found, column)));
        }
    }
}

fn open(path: &str, text: &str) -> Measured {
    let mut lab = Lab::start(&[(path, text)], false, []);
    let is_read = if path.ends_with(".chat") { "Probe.is_parsed" } else { "function() return true end" };
    lab.measure(&format!("Probe.open('{path}', {is_read})"))
}

/// The time of `setup()` in an editor that has not loaded Flemma. Most of it is loading the library.
fn setup() -> Measured {
    let mut lab = Lab::start(&[], false, []);
    Measured::of("took", lab.nvim.lua("return vim.g.setup_took", &[]).as_f64().unwrap_or(f64::NAN))
}
