//! `setup()`, and opening a file.

use std::{iter, thread, time::Duration};

use super::{
    conversation::conversation,
    lab::{Lab, Measured, file, row, spread, title},
    nvim::{Nvim, Options},
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
    let text = file(&conversation(1_000)) + "\n@You:\nGo on.\n";
    let mut runs = [("a plain text file", "notes.txt", ""), ("Flemma", "notes.chat", "require('flemma').setup({})")]
        .map(|(name, path, init)| (name, path, init, Vec::new()));
    for _ in 0..RUNS {
        for (_, path, init, found) in &mut runs {
            found.push(start(path, &text, init));
        }
    }
    title("starting Neovim with a file of 1,000 lines", &["first screen: CPU", "CPU"]);
    for (name, .., found) in &runs {
        row(name, &["screen", "cpu"].map(|column| spread(found, column)));
    }
}

/// What the process has used when the first screen is drawn, and two seconds later.
fn start(path: &str, text: &str, init: &str) -> Measured {
    let probe = "function Used()
          local used = vim.uv.getrusage()
          return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
        end
        local namespace, screen = vim.api.nvim_create_namespace('probe'), nil
        vim.api.nvim_set_decoration_provider(namespace, { on_end = function()
          screen = screen or vim.v.vim_did_enter == 1 and Used() or nil
        end })
        function Screen() return screen end";
    let init = format!("{probe}\n{init}");
    let mut nvim =
        Nvim::start(&Options { init: &init, files: &[(path, text)], arguments: &[path], ..Options::default() });
    thread::sleep(Duration::from_secs(2));
    let mut get = |code| nvim.lua(code, &[]).as_f64().unwrap_or(f64::NAN);
    Measured::of("cpu", get("return Used()")).with("screen", get("return Screen()"))
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
