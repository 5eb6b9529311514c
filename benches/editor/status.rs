//! The cost of the status line component, which Neovim calls whenever it draws a status line.

use super::{
    conversation::conversation,
    lab::{Lab, file, row, title},
};

/// How often the component is called.
const CALLS: u32 = 10_000;

/// Measures a call in a short conversation, in a long one, and in one in which a call waits.
pub fn measure() {
    title(&format!("status line component, mean of {CALLS} calls"), &["one conversation", "all"]);
    let waits = "\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
                 @You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n";
    let long = file(&conversation(100_000)) + "\n@You:\nGo on.\n";
    report("a short conversation", "@You:\nGo on.\n");
    report("100,000 lines", &long);
    report("100,000 lines, and a call that waits", &(long.clone() + waits));
}

fn report(name: &str, text: &str) {
    let mut lab = Lab::start(&[("notes.chat", text)], true, []);
    lab.nvim.wait_for("the conversation", |nvim| nvim.lua("return Probe.is_parsed()", &[]) == true);
    let mut took = |function: &str| {
        let code = format!(
            "local call = require('flemma.statusline').{function}
             local before = vim.uv.hrtime()
             for _ = 1, {CALLS} do call() end
             return (vim.uv.hrtime() - before) / 1e3 / {CALLS}"
        );
        format!("{:.1} µs", lab.nvim.lua(&code, &[]).as_f64().unwrap_or(f64::NAN))
    };
    let cells = [took("component"), took("overview")];
    row(name, &cells);
}
