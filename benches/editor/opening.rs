//! `setup()`, and opening a file.

use super::{
    conversation::conversation,
    lab::{Lab, Measured, file, ms, row, title},
};

const RUNS: usize = 3;

/// Measures each in an editor that has opened nothing yet; the best of a few.
pub fn measure() {
    title("opening a file, best of 3", &["first screen", "all read", "CPU", "stall"]);
    let setup = (0..RUNS).map(|_| setup()).fold(f64::INFINITY, f64::min);
    row("setup(), the library loaded", &[ms(setup)]);
    for (size, lines) in [("30 lines", 36), ("80,000 lines", 80_000), ("400,000 lines", 400_000)] {
        let text = file(&conversation(lines)) + "\n@You:\nGo on.\n";
        for (name, path) in
            [("a plain text file", "notes.txt"), ("a Markdown file", "notes.md"), ("Flemma", "notes.chat")]
        {
            let runs = (0..RUNS).map(|_| open(path, &text));
            let Some(best) = runs.min_by(|a, b| a.get("screen").total_cmp(&b.get("screen"))) else { continue };
            let time = |name| ms(best.get(name));
            row(&format!("{size}: {name}"), &[time("screen"), time("read"), time("cpu"), time("stall")]);
        }
    }
}

fn open(path: &str, text: &str) -> Measured {
    let mut lab = Lab::start(&[(path, text)], false, []);
    let is_read = if path.ends_with(".chat") { "Probe.is_parsed" } else { "function() return true end" };
    lab.measure(&format!("Probe.open('{path}', {is_read})"))
}

/// The time of `setup()` in an editor that has loaded nothing of ours: most of it is the library.
fn setup() -> f64 {
    let mut lab = Lab::start(&[], false, []);
    lab.nvim.lua("return vim.g.setup_took", &[]).as_f64().unwrap_or(f64::NAN)
}
