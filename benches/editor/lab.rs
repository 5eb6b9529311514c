//! An editor for measurements: a real Neovim with a screen, a conversation, and a local server.

use std::{
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    http::{Reply, Server},
    nvim::{Nvim, Options},
};

/// The time limit for each measurement. After it, the last row of the table shows where the benchmark stopped.
const PATIENCE: Duration = Duration::from_secs(120);

/// The interval between two checks of the screen.
const GLANCE: Duration = Duration::from_micros(50);

/// An editor and a server.
pub struct Lab {
    pub nvim: Nvim,
    _server: Server,
}

/// The measurements of the probe; times are in milliseconds.
#[derive(Clone, Debug)]
pub struct Measured(Value);

impl Measured {
    /// A report with only this value.
    pub fn of(name: &str, number: f64) -> Self {
        Self(json!({})).with(name, number)
    }

    /// One number.
    pub fn get(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or(f64::NAN)
    }

    /// The same with one more number.
    pub fn with(mut self, name: &str, number: f64) -> Self {
        self.0[name] = number.into();
        self
    }

    /// The measurements up to each of the requested times.
    pub fn marks(&self) -> Vec<Self> {
        self.0["marks"].as_array().into_iter().flatten().cloned().map(Self).collect()
    }

    /// A list of numbers.
    pub fn list(&self, name: &str) -> Vec<f64> {
        self.0[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    }
}

impl Lab {
    /// Starts an editor with `files` in its working directory, opens the first of them if `open` is true, and waits
    /// until the editor is idle.
    pub fn start(files: &[(&str, &str)], open: bool, replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = Server::start(replies);
        // A Neovim without the parser for Markdown opens such a file with an error.
        let init = format!(
            "if not vim.treesitter.language.add('markdown') then
               vim.treesitter.start = function() vim.bo.syntax = 'markdown' end
             end
             local before = vim.uv.hrtime()
             require('flemma').setup({{ provider = 'anthropic', model = 'claude-test', \
             parameters = {{ anthropic = {{ base_url = '{}' }} }}, tools = {{ autopilot = {{ max_turns = 1000 }} }} }})
             vim.g.setup_took = (vim.uv.hrtime() - before) / 1e6",
            server.base_url()
        );
        let nvim = Nvim::start(&Options {
            init: &init,
            files,
            environment: &[("ANTHROPIC_API_KEY", "sk-bench")],
            ..Options::default()
        });
        let mut lab = Self { nvim, _server: server };
        let channel = lab.nvim.channel();
        lab.nvim.lua(include_str!("probe.lua"), &[]);
        lab.nvim.lua("Probe.init(...)", &[channel.into()]);
        if open {
            let is_read = if files[0].0.ends_with(".chat") { "Probe.is_parsed" } else { "function() return true end" };
            lab.measure(&format!("Probe.open('{}', {is_read})", files[0].0));
            lab.nvim.input("G$");
            lab.rest();
        }
        lab
    }

    /// Waits until the editor is idle.
    pub fn rest(&mut self) {
        let cpu = "local used = vim.uv.getrusage() return used.utime.sec * 1e3 + used.utime.usec / 1e3";
        let mut before = f64::MIN;
        loop {
            let used = self.nvim.lua(cpu, &[]).as_f64().unwrap_or_default();
            if used - before < 5.0 {
                return;
            }
            before = used;
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The memory of the editor, in MiB.
    pub fn memory(&mut self) -> f64 {
        self.nvim.lua("return Probe.memory()", &[]).as_f64().unwrap_or(f64::NAN)
    }

    /// Runs Lua code that ends with a report from the probe, and waits for the report without disturbing the editor.
    pub fn measure(&mut self, code: &str) -> Measured {
        self.try_measure(code).unwrap_or_else(|| self.nvim.fail("nothing was measured"))
    }

    /// The same; `None` if there is no report in time.
    pub fn try_measure(&mut self, code: &str) -> Option<Measured> {
        self.nvim.request("nvim_exec_lua", &["vim.schedule(assert(loadstring(...)))".into(), json!([code])]);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some((_, arguments)) = self.nvim.notifications().into_iter().find(|(name, _)| name == "measured") {
                return Some(Measured(arguments[0].clone()));
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }

    /// Presses a key and waits until the cursor on the screen has moved, as a user would.
    pub fn press(&mut self, key: &str) -> Duration {
        self.press_until_changed(key, |nvim| nvim.screen_cursor())
    }

    /// Presses a key that shows another part of the text and waits until it is on the screen. The cursor may stay in its row,
    /// but the line number in the status line changes.
    pub fn turn(&mut self, key: &str) -> Duration {
        self.press_until_changed(key, |nvim| nvim.screen())
    }

    fn press_until_changed<T: PartialEq>(&mut self, key: &str, look: impl Fn(&mut Nvim) -> T) -> Duration {
        let before = look(&mut self.nvim);
        let start = Instant::now();
        self.nvim.request("nvim_input", &[key.into()]);
        while look(&mut self.nvim) == before {
            if start.elapsed() > PATIENCE {
                self.nvim.fail("the key has no effect");
            }
            thread::sleep(GLANCE);
        }
        start.elapsed()
    }
}

/// Lines as the text of a file.
pub fn file(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// A row of the table: a name and its columns.
pub fn row(name: &str, columns: &[String]) {
    let columns: String = columns.iter().fold(String::new(), |mut all, column| {
        let _ = write!(all, "{column:>16}");
        all
    });
    println!("{name:<50}{columns}");
}

/// The title of a section of the table.
pub fn title(name: &str, columns: &[&str]) {
    println!();
    row(name, &columns.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>());
}

/// The median of several runs, with the minimum and the maximum: `6.8 (6.5-7.2) ms`.
pub fn spread(found: &[Measured], name: &str) -> String {
    let mut times: Vec<f64> = found.iter().map(|measured| measured.get(name)).collect();
    times.sort_by(f64::total_cmp);
    let [Some(least), Some(median), Some(most)] = [times.first(), times.get(times.len() / 2), times.last()] else {
        return "nothing".to_owned();
    };
    let digits = usize::from(*median < 10.0);
    format!("{median:.digits$} ({least:.digits$}-{most:.digits$}) ms")
}

/// Milliseconds in a readable format.
pub fn ms(time: f64) -> String {
    match time {
        time if time >= 1000.0 => format!("{:.2} s", time / 1000.0),
        time if time >= 10.0 => format!("{time:.0} ms"),
        time => format!("{time:.1} ms"),
    }
}
