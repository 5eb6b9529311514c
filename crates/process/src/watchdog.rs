//! Ends running commands when the editor ends, for any reason.
//!
//! One small shell per editor process runs in a session of its own and reads from a pipe. Each command announces its
//! group in the pipe before exec, and the group is signed off before the command is reaped. The pipe closes when the
//! editor quits, crashes or is killed. Then the shell sends SIGTERM to the remaining groups, and SIGKILL a second
//! later. (Linux's parent-death signal depends on the thread that spawned the child, and does not reach grandchildren.)
//!
//! A process that has left its group (`setsid`) is found by a [`ProcessMark`] in its environment, on systems with
//! `/proc`. Background processes of a command that has ended are signed off with it and keep running.

use std::{
    io::{self, PipeReader, PipeWriter, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{fs::OFlags, process::Pid};

/// The variable that marks the processes of one command.
const VARIABLE: &str = "FLEMMA_COMMAND";

/// The script of the shell. `kill` and `read` are built in; `grep` and `sleep` exist everywhere.
const SCRIPT: &str = include_str!("watchdog.sh");

/// Marks the processes of one command. Everything that it starts inherits the mark.
#[derive(Clone, Debug)]
pub(super) struct ProcessMark(String);

/// The write end of the pipe, where a command announces itself. The pipe stays open while one exists.
#[derive(Clone)]
pub(super) struct Lifeline(Arc<Pipe>);

struct Pipe {
    writer: PipeWriter,
    /// Kept open so that writing never raises SIGPIPE, even if the shell is killed.
    _reader: PipeReader,
}

struct Watchdog {
    shell: Child,
    line: Lifeline,
}

static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

impl ProcessMark {
    /// Puts a new mark on `command`.
    pub(super) fn put_on(command: &mut Command) -> Self {
        let mark = format!("{:016x}", fastrand::u64(..));
        command.env(VARIABLE, &mark);
        Self(mark)
    }

    /// The processes with this mark, on systems with `/proc`.
    pub(super) fn processes(&self) -> Vec<Pid> {
        let wanted = format!("{VARIABLE}={}", self.0);
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let has_mark = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        numbers.filter(has_mark).filter_map(Pid::from_raw).collect()
    }
}

/// The pipe to the watchdog, which is started if there is none. `None` if it cannot be started; commands run without it
/// then.
pub(super) fn line() -> Option<Lifeline> {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let is_running = |watchdog: &mut Watchdog| matches!(watchdog.shell.try_wait(), Ok(None));
    if !watchdog.as_mut().is_some_and(is_running) {
        *watchdog = start().ok();
    }
    watchdog.as_ref().map(|watchdog| watchdog.line.clone())
}

fn start() -> io::Result<Watchdog> {
    let (reader, writer) = io::pipe()?;
    // A command must never wait for the watchdog.
    rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).current_dir("/").env_remove(VARIABLE);
    command.stdin(reader.try_clone()?).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: only async-signal-safe functions may run between fork and exec. setsid(2) is, and nothing allocates.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
    let shell = command.spawn()?;
    Ok(Watchdog { shell, line: Lifeline(Arc::new(Pipe { writer, _reader: reader })) })
}

impl Lifeline {
    /// Announces that the calling process leads its own group. It may be called between fork and exec: it only writes.
    pub(super) fn announce(&self, mark: &ProcessMark) {
        let mut line = [0_u8; 64];
        let (room, mut rest) = (line.len(), &mut line[..]);
        // Into the buffer, without allocating.
        if writeln!(rest, "+ {} {}", mark.0, rustix::process::getpid().as_raw_nonzero()).is_ok() {
            let length = room - rest.len();
            let _ = rustix::io::write(self.0.writer.as_fd(), &line[..length]);
        }
    }

    /// Signs a command off: it is not ended with the editor any more, or was never started.
    pub(super) fn sign_off(&self, mark: &ProcessMark) {
        let _ = rustix::io::write(self.0.writer.as_fd(), format!("- {}\n", mark.0).as_bytes());
    }
}
