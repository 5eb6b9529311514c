//! Lua that a model has written, and what evaluates it.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use flemma_model::ModelError;
use flemma_process::Lines;

/// How often it is asked whether a program has to stop.
const TICK: Duration = Duration::from_millis(20);

/// Starts Neovim with less memory than it would take to hold up the system, in KB, where the system has such a limit. The script stops a
/// program before that, but not inside of one function.
const START: &str = "ulimit -v 400000 2>/dev/null; exec \"$0\" \"$@\"";

/// Evaluates programs, each in a Neovim of its own (`nvim -l`), without access to anything but what it is given.
#[derive(Clone, Debug)]
pub struct LuaSandbox {
    /// Neovim: a program, and arguments before its own.
    pub nvim: Vec<OsString>,
    /// What it runs: `lua/flemma/tools/evaluation.lua`.
    pub script: PathBuf,
}

/// What the script says.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    /// The program asks for something.
    Ask { ask: String, page: String },
    /// It has come to this.
    End { end: Ended },
}

#[derive(Deserialize)]
struct Ended {
    /// A list, as JSON.
    values: Option<String>,
    problem: Option<String>,
    memory: Option<usize>,
    #[serde(default)]
    is_cut: bool,
    printed: String,
    is_printed_cut: bool,
}

impl LuaSandbox {
    /// Evaluates a program; blocks until it has ended or has to stop.
    ///
    /// # Errors
    /// If it fails, has to stop, or uses too much memory.
    pub fn evaluate(&self, program: &LuaProgram<'_>) -> Result<LuaResults, LuaFault> {
        let failed = |message: String| LuaFault::Failed { message, printed: Printed::default() };
        let mut child = self.start().map_err(|error| failed(format!("Neovim could not be started: {error}")))?;
        let gone = || failed("the program ended its Neovim, perhaps because it used too much memory".to_owned());
        let request = json!({ "source": program.source, "strict": program.strict, "names": program.names });
        child.send(&request.to_string()).map_err(|_| gone())?;
        loop {
            let line = child.next(TICK);
            if (program.is_over)() {
                return Err(LuaFault::Stopped);
            }
            let line = match line {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            };
            let line = String::from_utf8_lossy(&line);
            match serde_json::from_str(&line)
                .map_err(|error| failed(format!("its answer could not be read: {error}")))?
            {
                Said::End { end } => return end.outcome(),
                Said::Ask { ask, page } => {
                    let answer = match (program.ask)(&ask, &page) {
                        Ok(value) => json!({ "value": value }),
                        Err(problem) => json!({ "problem": problem.to_string() }),
                    };
                    child.send(&answer.to_string()).map_err(|_| gone())?;
                }
            }
        }
    }

    fn start(&self) -> io::Result<Lines> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", START]).args(&self.nvim).args(["--clean", "-n", "-i", "NONE", "-l"]).arg(&self.script);
        command.current_dir(self.script.parent().unwrap_or(Path::new("/")));
        Lines::start(command)
    }
}

impl Ended {
    fn outcome(self) -> Result<LuaResults, LuaFault> {
        let printed = Printed { text: self.printed, is_cut: self.is_printed_cut };
        if let Some(megabytes) = self.memory {
            return Err(LuaFault::Memory(megabytes));
        }
        match serde_json::from_str(&self.values.unwrap_or_default()) {
            Ok(values) => Ok(LuaResults { values, printed, is_cut: self.is_cut }),
            Err(error) => {
                let message = self.problem.unwrap_or_else(|| format!("the result could not be read: {error}"));
                Err(LuaFault::Failed { message, printed })
            }
        }
    }
}

/// Answers a function of `space`, which is called with the name of a page.
pub type AskNotes<'a> = dyn Fn(&str, &str) -> Result<Value, ModelError> + 'a;

/// A program.
pub struct LuaProgram<'a> {
    /// An expression; or, unless it is `strict`, a chunk that returns something.
    pub source: &'a str,
    /// Whether every result must be JSON. Otherwise what is not JSON is described by a text in its place.
    pub strict: bool,
    /// The values of more global names.
    pub names: &'a Map<String, Value>,
    /// Answers what it asks for.
    pub ask: &'a AskNotes<'a>,
    /// Whether the program has to stop.
    pub is_over: &'a dyn Fn() -> bool,
}

/// What a program came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LuaResults {
    /// What it returned.
    pub values: Vec<Value>,
    /// What it printed.
    pub printed: Printed,
    /// Whether the values are not whole, because there is too much.
    pub is_cut: bool,
}

/// What a program printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text, or the beginning of it.
    pub text: String,
    /// Whether it printed more.
    pub is_cut: bool,
}

/// Why a program came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LuaFault {
    /// It was stopped.
    #[error("the program was stopped")]
    Stopped,
    /// It needs too much memory.
    #[error("the program used more than {0} MB of memory and was stopped")]
    Memory(usize),
    /// It failed, or is not Lua.
    #[error("{message}")]
    Failed {
        /// What went wrong, and in which line.
        message: String,
        /// What it had printed.
        printed: Printed,
    },
}
