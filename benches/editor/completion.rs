//! Completion while somebody types: in a conversation of 100,000 lines, beside a folder with 50,000 files.

use std::{fs, path::Path, thread, time::Duration};

use super::{
    conversation::conversation,
    lab::{Lab, Measured, file, row, spread, title},
};

const LINES: usize = 100_000;

const FILES: usize = 50_000;

const RUNS: usize = 3;

/// The pause between two keys of somebody who types fast.
const PAUSE: Duration = Duration::from_millis(80);

/// What is typed, a key at a time.
const TYPED: &str = "See @./many/file_12345 and use @calculator for it.";

/// Asks the source for blink.cmp after every key, as that plugin does, and notes how long the main thread was held up.
const FOLLOW: &str = "
  local source = require('flemma.integrations.blink').new()
  _G.held, _G.answered, _G.items = 0, 0, 0
  vim.api.nvim_create_autocmd('TextChangedI', { callback = function()
    if _G.cancel then _G.cancel() end
    local before = vim.uv.hrtime()
    _G.cancel = source:get_completions({
      bufnr = vim.api.nvim_get_current_buf(), cursor = vim.api.nvim_win_get_cursor(0),
    }, function(answer)
      _G.answered = _G.answered + 1
      _G.items = math.max(_G.items, #answer.items)
    end)
    _G.held = math.max(_G.held, (vim.uv.hrtime() - before) / 1e6)
  end })";

/// Measures keys with and without completion.
pub fn measure() {
    let text = file(&conversation(LINES)) + "\n@You:\nGo on.\n";
    let ways = [("without completion", ""), ("with completion", FOLLOW)];
    title("a key in 100,000 lines, beside 50,000 files; median of 3", &["median", "worst", "held up", "CPU a key"]);
    for (name, follow) in ways {
        let found: Vec<Measured> = (0..RUNS).map(|_| keys(&text, follow)).collect();
        row(name, &["median", "worst", "held", "cpu"].map(|column| spread(&found, column)));
    }
    let found: Vec<Measured> = (0..RUNS).map(|_| menu(&text)).collect();
    title("<C-x><C-o> until the answer is there; median of 3", &["first", "again", "stall"]);
    row("the folder with 50,000 files", &["first", "again", "stall"].map(|column| spread(&found, column)));
}

fn lab(text: &str) -> Lab {
    let mut lab = Lab::start(&[("notes.chat", text)], true, []);
    fill(&lab.nvim.work().join("many"));
    lab.nvim.input("G");
    lab.press("o");
    lab.rest();
    lab
}

/// Fills a folder with files.
fn fill(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for number in 0..FILES {
        fs::write(folder.join(format!("file_{number}")), "").unwrap();
    }
}

fn keys(text: &str, follow: &str) -> Measured {
    let mut lab = lab(text);
    lab.nvim.lua(follow, &[]);
    lab.nvim.lua("Probe.start()", &[]);
    let mut times: Vec<f64> = TYPED
        .chars()
        .map(|key| {
            let key = if key == ' ' { "<Space>".to_owned() } else { key.to_string() };
            thread::sleep(PAUSE);
            lab.press(&key).as_secs_f64() * 1e3
        })
        .collect();
    lab.rest();
    let cpu = lab.nvim.lua("return Probe.stop().cpu", &[]).as_f64().unwrap_or(f64::NAN);
    let said = lab.nvim.lua("return { _G.held or 0, _G.items or 0 }", &[]);
    assert!(follow.is_empty() || said[1].as_u64() > Some(100), "files were offered: {said}");
    times.sort_by(f64::total_cmp);
    Measured::of("median", times[times.len() / 2])
        .with("worst", times[times.len() - 1])
        .with("held", said[0].as_f64().unwrap_or(f64::NAN))
        .with("cpu", cpu / times.len() as f64)
}

/// The names are read for the first answer; the second one comes from what was kept.
fn menu(text: &str) -> Measured {
    let mut lab = lab(text);
    lab.nvim.lua("vim.api.nvim_set_current_line('@./many/')", &[]);
    let ask = "
      local row = vim.api.nvim_win_get_cursor(0)[1]
      vim.api.nvim_win_set_cursor(0, { row, 9 })
      Probe.start()
      local before, took = vim.uv.hrtime(), {}
      local function find(next)
        require('flemma.completion').find(0, row - 1, 9, function(found)
          assert(#found.items > 100 and found.incomplete)
          took[#took + 1] = (vim.uv.hrtime() - before) / 1e6
          before = vim.uv.hrtime()
          next()
        end)
      end
      find(function() find(function() Probe.report({ first = took[1], again = took[2] }) end) end)";
    lab.measure(ask)
}
