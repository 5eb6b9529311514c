//! Child processes. [`run`] runs one command to its end.
//!
//! The command leads its own session, so that it has no terminal to ask for passwords on, and everything it starts can
//! be stopped as one group. Its standard output and standard error come through one pipe, in the order in which they
//! were written, into an `OutputCapture`, which keeps the end in memory and all of it in a file. [`run`] then waits for
//! the exit of the command and for the end of the pipe:
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
pub mod output;
mod watchdog;

use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{io::AsyncReadExt, net::unix::pipe, time::Instant};
use tokio_util::sync::CancellationToken;

pub use capture::{Captured, MakeFile, SavedOutput};
pub use group::CommandEnd;

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
}

/// The result of a command: how it ended, and its output.
#[derive(Debug)]
pub struct Finished {
    /// How the command itself ended.
    pub end: CommandEnd,
    /// Why it was stopped, if it was.
    pub stopped: Option<StopCause>,
    /// Whether a background process that it started still runs and holds the pipe.
    pub left_running: bool,
    /// The output.
    pub output: Captured,
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
    let (reader, writer) = io::pipe()?;
    let (group, mut exited) = {
        // The command is dropped at the end of this block, and with it our copies of the write end of the pipe.
        let mut command = Command::new(&spec.program);
        command.args(&spec.args).current_dir(&spec.cwd);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        for (name, value) in &spec.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Group::spawn(&mut command)?
    };
    let mut pipe = pipe::Receiver::from_owned_fd(reader.into())?;

    let mut capture = OutputCapture::new(spec.make_file);
    let mut buffer = Vec::with_capacity(CHUNK);
    let mut open = true;
    let mut end = None;
    let mut stopped = None;
    let mut phase = Phase::Running;
    let mut deadline = Instant::now() + spec.timeout.min(MAX_TIMEOUT);
    let mut unreported = false;
    let mut next_report = Instant::now();
    while open || end.is_none() {
        let mut stop = None;
        tokio::select! {
            read = pipe.read_buf(&mut buffer), if open => {
                // Only this process holds the read end, so an error can only mean that no more data will come.
                open = read.is_ok_and(|bytes| bytes > 0);
                unreported |= open;
                capture.push(&buffer).await;
                buffer.clear();
            }
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
                (spec.progress)(capture.last_lines(PROGRESS_LINES));
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
        left_running: open && phase == Phase::Draining,
        output: capture.finish().await,
    })
}
