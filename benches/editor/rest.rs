//! The cost of a conversation that is idle, or that waits for a reply.

use super::{
    http::{Gate, Reply},
    lab::{Lab, Measured, ms, row, title},
};

/// The duration of the measurement, in milliseconds.
const TIME: u32 = 10_000;

const TEXT: &str = "@You:\nGo on.\n";

/// Measures an open conversation, and one that waits for its reply.
pub fn measure() {
    let seconds = TIME / 1000;
    title(&format!("{seconds} seconds of nothing"), &["CPU share", "stall", "screens/s", "wakes/s"]);
    report("a plain text file", &idle("notes.txt"));
    report("a conversation", &idle("notes.chat"));
    report("a conversation that waits for its reply", &waiting());
}

fn report(name: &str, measured: &Measured) {
    let wall = measured.get("wall");
    let a_second = |name| format!("{:.1}", measured.get(name) / wall * 1000.0);
    let share = format!("{:.2} %", measured.get("cpu") / wall * 100.0);
    row(name, &[share, ms(measured.get("stall")), a_second("screens"), a_second("wakes")]);
}

fn idle(path: &str) -> Measured {
    let mut lab = Lab::start(&[(path, TEXT)], true, []);
    lab.measure(&format!("Probe.watch({TIME})"))
}

fn waiting() -> Measured {
    let gate = Gate::new();
    let mut lab = Lab::start(&[("notes.chat", TEXT)], true, [Reply::stream().hold(&gate)]);
    lab.nvim.input("<C-]>");
    lab.nvim.wait_for_screen("waiting for anthropic");
    let measured = lab.measure(&format!("Probe.watch({TIME})"));
    gate.open();
    measured
}
