//! Lua that a model has written, and what evaluates it; and what goes wrong in the functions of tools.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
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
    End { end: Evaluated },
}

/// What a program came to.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Evaluated {
    /// A list, as JSON.
    values: Option<String>,
    problem: Option<String>,
    /// How many MB it may use, if it used more.
    memory: Option<usize>,
    /// Whether the values are not whole, because there is too much.
    #[serde(default)]
    pub(super) is_cut: bool,
    /// What it printed, or the beginning of that.
    pub(super) printed: String,
    /// Whether it printed more.
    pub(super) is_printed_cut: bool,
}

impl Evaluated {
    /// What it returned; or what went wrong, and in which line.
    pub(super) fn values(&self) -> Result<Vec<Value>, LuaError> {
        let unread = |error| format!("the result could not be read: {error}");
        let values = serde_json::from_str(self.values.as_deref().unwrap_or_default());
        values.map_err(|error| LuaError(self.problem.clone().unwrap_or_else(|| unread(error))))
    }
}

/// Answers a function of `space`, which is called with the name of a page.
type Answer<'a> = dyn Fn(&str, &str) -> Result<Value, ModelError> + 'a;

impl LuaSandbox {
    /// Evaluates a program; blocks until it has ended, or has to stop because it `is_over`: then there is nothing. `request` is its
    /// `source`, the values of more global `names`, and whether it is `strict`: an expression whose value must be JSON. Otherwise it
    /// may be a chunk, and what is not JSON is described by a text in its place.
    ///
    /// # Errors
    /// If it could not be run to its end.
    pub(super) fn evaluate(
        &self,
        request: &Value,
        is_over: &dyn Fn() -> bool,
        answer: &Answer<'_>,
    ) -> Result<Option<Evaluated>, LuaError> {
        let mut child = self.start().map_err(|error| LuaError(format!("Neovim could not be started: {error}")))?;
        let gone = || LuaError::new("the program ended its Neovim, perhaps because it used too much memory");
        child.send(&request.to_string()).map_err(|_| gone())?;
        loop {
            let line = child.next(TICK);
            if is_over() {
                return Ok(None);
            }
            let line = match line {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            };
            let said = serde_json::from_str(&String::from_utf8_lossy(&line));
            match said.map_err(|error| LuaError(format!("its answer could not be read: {error}")))? {
                Said::End { end: Evaluated { memory: Some(megabytes), .. } } => {
                    return Err(LuaError(format!(
                        "the program used more than {megabytes} MB of memory and was stopped"
                    )));
                }
                Said::End { end } => return Ok(Some(end)),
                Said::Ask { ask, page } => {
                    let answer = match answer(&ask, &page) {
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

/// What a Lua function threw, or why what it returned is of no use. The author of the function has to act. The text may be
/// anything, so each audience is told whose function it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LuaError(String);

impl LuaError {
    /// An error with the words of the function, or with words about it.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}
