//! One key in the last message, from the key to the screen.

use super::{
    conversation::conversation,
    lab::{Lab, file, ms, row, title},
};

const KEYS: usize = 200;

/// After so many keys comes a line break.
const WIDTH: usize = 50;

/// Measures keys in a conversation and in a Markdown file.
pub fn measure() {
    title("a key, until it is on the screen", &["median", "worst", "CPU a key"]);
    for (size, lines) in [("1,000 lines", 1_000), ("80,000 lines", 80_000)] {
        let text = file(&conversation(lines)) + "\n@You:\nGo on.\n";
        for (name, path) in
            [("a plain text file", "notes.txt"), ("a Markdown file", "notes.md"), ("Flemma", "notes.chat")]
        {
            let mut lab = Lab::start(&[(path, &text)], true, []);
            report(&format!("{size}: {name}"), &mut lab);
        }
    }
}

fn report(name: &str, lab: &mut Lab) {
    lab.nvim.input("G");
    lab.press("A");
    lab.rest();
    lab.nvim.lua("Probe.start()", &[]);
    let mut times: Vec<f64> = (1..=KEYS)
        .map(|number| lab.press(if number % WIDTH == 0 { "<CR>" } else { "x" }).as_secs_f64() * 1e3)
        .collect();
    let cpu = lab.nvim.lua("return Probe.stop().cpu", &[]).as_f64().unwrap_or(f64::NAN);
    times.sort_by(f64::total_cmp);
    row(name, &[ms(times[KEYS / 2]), ms(times[KEYS - 1]), ms(cpu / KEYS as f64)]);
}
