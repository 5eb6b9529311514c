//! Child processes: runs one command to its end, whatever it does.
//!
//! The command leads a session of its own, so that it has no terminal to ask passwords on and everything it starts
//! can be stopped as one group. Its output and its errors come through one pipe, in the order they were written,
//! into an `OutputCapture` that keeps the end in memory and the whole in a file. [`run`] then waits for the command's exit
//! and the pipe's end, and is done with both:
//!
//! * *Exit without end*: a process in the background holds the pipe. After a short grace it is left alone and the
//!   call returns.
//! * *Timeout or cancel*: SIGTERM for the group, SIGKILL a second later, and the call returns with what had been
//!   printed.
//! * *The future is dropped*: SIGKILL for the group.
//! * *This process ends*, in whatever way: a `watchdog` process does the same for what still runs.
//!
//! Nothing here listens for SIGCHLD: inside Neovim that signal is libuv's. A thread waits for each command instead.

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
    /// Takes the last lines of the output, ten times a second at most.
    pub progress: OnProgress,
    /// Makes the file for an output that is too long for memory.
    pub make_file: MakeFile,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct Finished {
    /// How the command itself ended.
    pub end: CommandEnd,
    /// Why it was stopped, if it was.
    pub stopped: Option<StopCause>,
    /// Whether something that it started in the background still runs and holds the output.
    pub left_running: bool,
    /// What was printed.
    pub output: Captured,
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// The user said so.
    Cancelled,
    /// It took longer than it may.
    TimedOut,
}

/// Where the wait stands; each phase has a deadline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The command runs.
    Running,
    /// It has ended; the pipe is still open.
    Draining,
    /// The group was asked to end.
    Terminating,
    /// The group was killed.
    Killed,
}

/// Runs a command to its end. Must be polled on a tokio runtime with I/O and time.
///
/// # Errors
/// When it cannot be started: the program is not there or cannot be executed, or there are no pipes, threads or
/// processes left.
pub async fn run(spec: CommandSpec) -> io::Result<Finished> {
    let (reader, writer) = io::pipe()?;
    let (group, mut exited) = {
        // The command goes at the end of this block, and with it our copies of the pipe's write end.
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
                // An error on a pipe that we hold alone can only mean that nothing more will come.
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
    // What was asked to end has the rest of its second, even if the command itself and its output are gone.
    let kill_after = (phase == Phase::Terminating).then(|| deadline.saturating_duration_since(Instant::now()));
    group.release(kill_after);
    Ok(Finished {
        end: end.unwrap_or(CommandEnd::Unknown),
        stopped,
        left_running: open && phase == Phase::Draining,
        output: capture.finish().await,
    })
}
