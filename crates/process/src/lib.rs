//! Child processes. [`run`] runs one command to its end, and [`Lines`] speaks with one.
//!
//! The command leads its own session, so that it has no terminal to ask for passwords on, and everything it starts can
//! be stopped as one group. Its standard output and standard error come through one pipe, in the order in which they
//! were written, into an `OutputCapture`, which keeps the end in memory and all of it in a file; or each has a pipe and
//! a capture of its own ([`Streams::Apart`]). [`run`] then waits for the exit of the command and for the end of the pipe:
//!
//! * *Exit, but the pipe is open*: a background process holds the pipe. After a short grace period the call returns and
//!   leaves it running.
//! * *Timeout or cancellation*: SIGTERM for the group, SIGKILL a second later. The call returns with the output so far.
//! * *The future is dropped*: SIGKILL for the group.
//! * *This process ends for any reason*: a `watchdog` process does the same for the groups that still run.
//!
//! Nothing here handles SIGCHLD, because libuv does so inside Neovim. Instead, a thread waits for each command.

mod capture;
mod group;
mod lines;
pub mod output;
mod shell;
mod watchdog;

use std::{
    ffi::OsString,
    io::{self, PipeWriter},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{io::AsyncReadExt, net::unix::pipe, time::Instant};
use tokio_util::sync::CancellationToken;

pub use capture::{Captured, MakeFile, SavedOutput};
pub use group::CommandEnd;
pub use lines::Lines;
pub use shell::{Grammar, Shell};

use capture::OutputCapture;
use group::{Group, Signal};

/// How long the output may stay open after the command has ended.
const GRACE: Duration = Duration::from_millis(300);

/// How long a command has between SIGTERM and SIGKILL.
const TERMINATE: Duration = Duration::from_secs(1);

/// The least time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(100);

/// How many lines a report of progress has.
const PROGRESS_LINES: usize = 5;

/// The longest timeout: a day.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of the output is read at once.
const CHUNK: usize = 64 * 1024;

/// Takes the latest lines of a running command's output. The producer calls it about ten times a second at most.
pub type OnProgress = Arc<dyn Fn(String) + Send + Sync>;

/// What to run, and how.
pub struct CommandSpec {
    /// The program; looked up on `PATH` if it has no slash.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory, which must be there.
    pub cwd: PathBuf,
    /// Changes of its environment: a value to set, or `None` to take the variable out.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// How long it may run; a day at most.
    pub timeout: Duration,
    /// Stops it.
    pub cancel: CancellationToken,
    /// Receives the last lines of the output, at most ten times a second.
    pub progress: OnProgress,
    /// Creates the file for an output that is too long for memory.
    pub make_file: MakeFile,
    /// Whether standard error is captured with standard output.
    pub streams: Streams,
}

/// How the two outputs of a command are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// As one, in the order in which they were written.
    Together,
    /// Each by itself.
    Apart,
}

/// The result of a command: how it ended, and its output.
#[derive(Debug)]
pub struct Finished {
    /// How the command itself ended.
    pub end: CommandEnd,
    /// Why it was stopped, if it was.
    pub stopped: Option<StopCause>,
    /// Whether a background process that it started still runs and holds a pipe.
    pub left_running: bool,
    /// The output.
    pub output: Captured,
    /// Standard error, with [`Streams::Apart`].
    pub errors: Option<Captured>,
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// The user cancelled it.
    Cancelled,
    /// It timed out.
    TimedOut,
}

/// What is being waited for. Each phase has a deadline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The command is running.
    Running,
    /// It has ended; the pipe is still open.
    Draining,
    /// SIGTERM was sent to the group.
    Terminating,
    /// SIGKILL was sent to the group.
    Killed,
}

/// Runs a command to its end. Must be polled on a tokio runtime with I/O and time.
///
/// # Errors
/// When it cannot be started: the program does not exist or is not executable, or the system has no pipes, threads or
/// processes left.
pub async fn run(spec: CommandSpec) -> io::Result<Finished> {
    let (mut output, out_end) = Stream::new(&spec.make_file)?;
    let (mut errors, mut err_end) = Stream::new(&spec.make_file)?;
    if spec.streams == Streams::Together {
        err_end = out_end.try_clone()?;
        errors.is_open = false;
    }
    // The command is dropped at once, and with it our copies of the write ends of the pipes.
    let (group, mut exited) = Group::spawn(&mut command(&spec, out_end, err_end))?;
    let mut end = None;
    let mut stopped = None;
    let mut phase = Phase::Running;
    let mut deadline = Instant::now() + spec.timeout.min(MAX_TIMEOUT);
    let mut unreported = false;
    let mut next_report = Instant::now();
    while output.is_open || errors.is_open || end.is_none() {
        let mut stop = None;
        tokio::select! {
            () = output.fill(), if output.is_open => {
                unreported |= output.is_open;
                output.keep().await;
            }
            () = errors.fill(), if errors.is_open => errors.keep().await,
            ended = &mut exited, if end.is_none() => {
                end = Some(ended.unwrap_or(CommandEnd::Unknown));
                if phase == Phase::Running {
                    (phase, deadline) = (Phase::Draining, Instant::now() + GRACE);
                }
            }
            () = spec.cancel.cancelled(), if stopped.is_none() => stop = Some(StopCause::Cancelled),
            () = tokio::time::sleep_until(deadline) => match phase {
                Phase::Running => stop = Some(StopCause::TimedOut),
                Phase::Terminating => {
                    group.signal(Signal::KILL);
                    (phase, deadline) = (Phase::Killed, Instant::now() + GRACE);
                }
                Phase::Draining | Phase::Killed => break,
            },
            () = tokio::time::sleep_until(next_report), if unreported => {
                (spec.progress)(output.capture.last_lines(PROGRESS_LINES));
                unreported = false;
                next_report = Instant::now() + PROGRESS;
            }
        }
        if stop.is_some() {
            stopped = stop;
            group.signal(Signal::TERM);
            (phase, deadline) = (Phase::Terminating, Instant::now() + TERMINATE);
        }
    }
    // After SIGTERM the other processes get the rest of their second, even if the command and its output have ended.
    let kill_after = (phase == Phase::Terminating).then(|| deadline.saturating_duration_since(Instant::now()));
    group.release(kill_after);
    Ok(Finished {
        end: end.unwrap_or(CommandEnd::Unknown),
        stopped,
        left_running: (output.is_open || errors.is_open) && phase == Phase::Draining,
        output: output.capture.finish().await,
        errors: match spec.streams {
            Streams::Together => None,
            Streams::Apart => Some(errors.capture.finish().await),
        },
    })
}

/// The command, which writes to these pipes.
fn command(spec: &CommandSpec, out_end: PipeWriter, err_end: PipeWriter) -> Command {
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).current_dir(&spec.cwd);
    command.stdin(Stdio::null()).stdout(out_end).stderr(err_end);
    for (name, value) in &spec.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// One output of a command while it runs.
struct Stream {
    pipe: pipe::Receiver,
    /// What was read and is not captured yet.
    buffer: Vec<u8>,
    capture: OutputCapture,
    is_open: bool,
}

impl Stream {
    /// A new one, and the end that the command writes to.
    fn new(make_file: &MakeFile) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let pipe = pipe::Receiver::from_owned_fd(reader.into())?;
        let (buffer, capture) = (Vec::with_capacity(CHUNK), OutputCapture::new(Arc::clone(make_file)));
        Ok((Self { pipe, buffer, capture, is_open: true }, writer))
    }

    /// Reads more, or finds that the output is closed. Nothing is lost if the future is dropped.
    async fn fill(&mut self) {
        // Only this process holds the read end, so an error can only mean that no more data will come.
        self.is_open = self.pipe.read_buf(&mut self.buffer).await.is_ok_and(|bytes| bytes > 0);
    }

    /// Captures what was read.
    async fn keep(&mut self) {
        self.capture.push(&self.buffer).await;
        self.buffer.clear();
    }
}
