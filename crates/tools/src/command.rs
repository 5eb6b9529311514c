//! Commands that tools run: their environment, and what is shown of their output.
//!
//! `bash` runs those of the model, and Lua tools run theirs with [`run_command`]: one command, from its request to the lines that
//! Lua gets. The whole output stays here: Lua gets the end of each of the two outputs, once, as lines without escape sequences. What
//! is left out is said in a last line, which names the file that has all of it.

mod environment;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anstream::adapter::strip_str;
use tokio_util::sync::CancellationToken;

use crate::overflow;
pub use environment::environment;
use flemma_model::ModelError;
use flemma_process::{self as process, Captured, CommandEnd, CommandSpec, Finished, SavedOutput, StopCause, Streams};
use flemma_text::truncate::{Limits, Truncation, format_size, truncate_tail};

/// The exit code of a command that could not be started, as a shell gives it.
const NOT_STARTED: i32 = 126;

/// The exit code of a command whose program was not found, as a shell gives it.
const NOT_FOUND: i32 = 127;

/// The code of a command whose end the system did not report.
const UNKNOWN: i32 = -1;

/// The command whose name begins the file of an output.
const TOOL: &str = "command";

/// A command, as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandRequest {
    /// The program, looked up on `PATH` if it has no slash, and its arguments.
    pub argv: Vec<OsString>,
    /// Its working directory; that of this process if there is none.
    pub cwd: Option<PathBuf>,
    /// Variables that are added to its environment.
    pub env: Vec<(OsString, OsString)>,
    /// The keys of providers that stay in its environment.
    pub keep_env: Vec<String>,
}

impl CommandRequest {
    /// The arguments of a shell that runs this text.
    pub fn shell(text: &OsStr) -> Vec<OsString> {
        let mut script = OsString::new();
        if text.as_bytes().starts_with(b"-") || text.as_bytes().starts_with(b"+") {
            // It would be read as an option of the shell.
            script.push(" ");
        }
        script.push(text);
        vec!["sh".into(), "-c".into(), script]
    }

    /// Why the system cannot take it.
    fn problem(&self) -> Option<ModelError> {
        let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
        let problem = if self.argv.first().is_none_or(|program| program.is_empty()) {
            "the command names no program".to_owned()
        } else if let Some(at) = self.argv.iter().position(|argument| has_nul(argument)) {
            match at {
                0 => "the name of the program has a NUL byte".to_owned(),
                at => format!("argument {at} of `{}` has a NUL byte, which no program can be given", self.program()),
            }
        } else if let Some((name, _)) =
            self.env.iter().find(|(name, _)| name.is_empty() || name.as_bytes().contains(&b'=') || has_nul(name))
        {
            format!("`{}` cannot be the name of an environment variable", name.display())
        } else if let Some((name, _)) = self.env.iter().find(|(_, value)| has_nul(value)) {
            format!("the environment variable `{}` has a NUL byte, which no program can be given", name.display())
        } else {
            return None;
        };
        Some(ModelError::new(format!("The command was not started: {problem}.")))
    }

    fn program(&self) -> String {
        self.argv.first().map(|program| program.display().to_string()).unwrap_or_default()
    }
}

/// How a command ended, for Lua.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    /// Its exit code. A signal is 128 and its number; a command that could not be started has one that is not 0.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The lines of its standard output: the last ones, if it is long.
    pub stdout: Vec<String>,
    /// The lines of its standard error: the last ones, if it is long.
    pub stderr: Vec<String>,
    /// Whether it was stopped before its end.
    pub is_stopped: bool,
    /// Why it could not be started, or was stopped without having been asked to.
    pub problem: Option<ModelError>,
}

impl CommandResult {
    /// The result of a command that could not be started.
    pub fn not_started(problem: ModelError) -> Self {
        let problem = Some(problem);
        Self { code: NOT_STARTED, signal: None, stdout: Vec::new(), stderr: Vec::new(), is_stopped: false, problem }
    }
}

/// Runs a command to its end, or until it is cancelled; then it is stopped with everything that it started. An output that
/// is too long for Lua is saved in `overflow_dir`.
pub async fn run_command(request: CommandRequest, cancel: CancellationToken, overflow_dir: PathBuf) -> CommandResult {
    if let Some(problem) = request.problem() {
        return CommandResult::not_started(problem);
    }
    let program = request.program();
    if let Some(cwd) = request.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        let cwd = cwd.display();
        return CommandResult::not_started(ModelError::new(format!(
            "`{program}` was not started: the working directory {cwd} does not exist."
        )));
    }
    match process::run(spec(request, cancel, &overflow_dir)).await {
        Ok(finished) => result(finished, &overflow_dir).await,
        Err(error) => {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let problem = match error.kind() {
                io::ErrorKind::NotFound => format!("The program `{program}` was not found."),
                io::ErrorKind::PermissionDenied => format!("`{program}` could not be started: it is not executable."),
                io::ErrorKind::ArgumentListTooLong => format!(
                    "`{program}` could not be started: its arguments or environment variables are longer than the \
                     system takes. Put long text in a file."
                ),
                _ => format!("`{program}` could not be started: {error}."),
            };
            let code = if is_missing { NOT_FOUND } else { NOT_STARTED };
            CommandResult { code, ..CommandResult::not_started(ModelError::new(problem)) }
        }
    }
}

fn spec(request: CommandRequest, cancel: CancellationToken, overflow_dir: &Path) -> CommandSpec {
    let mut argv = request.argv.into_iter();
    let overflow_dir = overflow_dir.to_owned();
    let mut env = environment(&request.keep_env);
    env.extend(request.env.into_iter().map(|(name, value)| (name, Some(value))));
    CommandSpec {
        program: argv.next().unwrap_or_default(),
        args: argv.collect(),
        cwd: request.cwd.unwrap_or_else(|| ".".into()),
        env,
        // The most that there is.
        timeout: Duration::MAX,
        cancel,
        progress: Arc::new(drop),
        make_file: Arc::new(move || overflow::create(&overflow_dir, TOOL)),
        streams: Streams::Apart,
    }
}

async fn result(finished: Finished, overflow_dir: &Path) -> CommandResult {
    let stdout = lines(finished.output, overflow_dir).await;
    let mut stderr = match finished.errors {
        Some(errors) => lines(errors, overflow_dir).await,
        None => Vec::new(),
    };
    if finished.left_running {
        stderr.push(LEFT_RUNNING.to_owned());
    }
    let (code, signal) = match finished.end {
        CommandEnd::Exited(code) => (code, None),
        CommandEnd::Signalled(signal) => (128 + signal, Some(signal)),
        CommandEnd::Unknown => (UNKNOWN, None),
    };
    let problem = (finished.stopped == Some(StopCause::TimedOut))
        .then(|| ModelError::new("The command was stopped because it had been running for a day."));
    CommandResult { code, signal, stdout, stderr, is_stopped: finished.stopped.is_some(), problem }
}

/// The lines of an output, and a note if they are only its end.
async fn lines(output: Captured, overflow_dir: &Path) -> Vec<String> {
    let (mut lines, part) = last_lines(&output);
    if let Some(part) = part {
        lines.push(String::new());
        lines.push(part.note(output, overflow_dir, TOOL).await);
    }
    lines
}

/// The last lines of an output, and how much that is if it is not all.
fn last_lines(output: &Captured) -> (Vec<String>, Option<ShownPart>) {
    let text = String::from_utf8_lossy(&output.tail);
    let mut shown: &str = text.strip_suffix('\n').unwrap_or(&text);
    let is_cut = output.bytes > output.tail.len() as u64;
    let mut is_partial = false;
    if is_cut {
        match shown.split_once('\n') {
            // The first line is not whole.
            Some((_, rest)) => shown = rest,
            None => is_partial = true,
        }
    }
    if text.is_empty() {
        return (Vec::new(), None);
    }
    // Each line by itself: an escape sequence that is not complete costs no more than its line.
    let plain: Vec<String> = shown.split('\n').map(|line| strip_str(line.trim_end_matches('\r')).to_string()).collect();
    let plain = plain.join("\n");
    let tail = truncate_tail(&plain, Limits::default());
    let part = if tail.truncated {
        Some(ShownPart::of(&tail))
    } else {
        is_cut.then(|| ShownPart { lines: plain.split('\n').count(), bytes: plain.len(), is_partial })
    };
    (tail.content.split('\n').map(str::to_owned).collect(), part)
}

/// What a result says of a process that was left running.
pub const LEFT_RUNNING: &str =
    "[A process that the command started in the background is still running. Its further output is lost.]";

/// How much of an output a result shows: its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPart {
    /// Lines; a partial one counts.
    pub lines: usize,
    /// Bytes.
    pub bytes: usize,
    /// Whether it is only the end of the last line.
    pub is_partial: bool,
}

impl ShownPart {
    /// What a truncated text has.
    pub fn of(tail: &Truncation<'_>) -> Self {
        Self { lines: tail.output_lines, bytes: tail.output_bytes, is_partial: tail.last_line_partial }
    }

    /// The note of a result that shows this much of `output`. The output is saved in a file whose name begins with `tool`,
    /// unless it is already.
    pub async fn note(self, output: Captured, overflow_dir: &Path, tool: &'static str) -> String {
        let saved = match output.saved {
            SavedOutput::InMemory => save(output.tail, overflow_dir, tool).await,
            saved => saved,
        };
        let range = if self.is_partial {
            format!("the last {} of line {}, which is the last line", format_size(self.bytes as u64), output.lines)
        } else {
            format!("lines {}-{} of {}", output.lines + 1 - self.lines as u64, output.lines, output.lines)
        };
        let whole = match saved {
            SavedOutput::InMemory => String::new(),
            SavedOutput::InFile(path) => {
                format!("The full output ({}) is in {}", format_size(output.bytes), path.display())
            }
            SavedOutput::Beginning(path, bytes) => format!(
                "The full output was {}; only the first {} were saved, in {}",
                format_size(output.bytes),
                format_size(bytes),
                path.display()
            ),
            SavedOutput::Lost(error) => format!("The rest could not be saved: {error}"),
        };
        format!("[Showing {range}. {whole}]")
    }
}

/// Saves an output that fits in memory but is too long for the result.
async fn save(output: Vec<u8>, dir: &Path, tool: &'static str) -> SavedOutput {
    let dir = dir.to_owned();
    let saved = tokio::task::spawn_blocking(move || overflow::save(&dir, tool, &output)).await;
    match saved.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(path) => SavedOutput::InFile(path),
        Err(error) => SavedOutput::Lost(error.to_string()),
    }
}
