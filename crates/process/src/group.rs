//! A command and all processes that it starts, which can be signalled together.
//!
//! The id of the command is the id of the group, and must not be reused while the group may still be signalled. The
//! system may reuse it as soon as the command is reaped. So a thread waits for the exit without reaping, reports it,
//! and reaps only when the group is released. Processes that have left the group are found by their [`ProcessMark`].

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::mpsc,
    thread,
    time::Duration,
};

pub(super) use rustix::process::Signal;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::sync::oneshot;

use super::watchdog::{self, Lifeline, ProcessMark};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Unknown: the system did not report it, or the command cannot be killed.
    Unknown,
}

/// The process group of a command. Dropping it before it is released kills the group.
pub(super) struct Group {
    members: Members,
    release: Option<mpsc::Sender<Option<Duration>>>,
}

/// The processes that a signal is sent to.
#[derive(Clone)]
struct Members {
    id: Pid,
    mark: ProcessMark,
}

impl Members {
    /// Sends a signal to every process of the group, and to those that have left it. It is not an error if there are
    /// none.
    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.id, signal);
        for process in self.mark.processes() {
            let _ = rustix::process::kill_process(process, signal);
        }
    }
}

impl Group {
    /// Starts a command as the leader of a new session and group, which ends with this process at the latest. The
    /// receiver is told how the command ended.
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Self, oneshot::Receiver<CommandEnd>)> {
        let mark = ProcessMark::put_on(command);
        let line = watchdog::line();
        let (own_line, own_mark) = (line.clone(), mark.clone());
        // SAFETY: only async-signal-safe functions may run between fork and exec. setsid(2), getpid(2) and write(2)
        // are, and nothing allocates.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                if let Some(line) = &own_line {
                    line.announce(&own_mark);
                }
                Ok(())
            });
        }
        let child = command.spawn().inspect_err(|_| {
            // It may have announced itself before exec failed.
            if let Some(line) = &line {
                line.sign_off(&mark);
            }
        })?;
        let members = Members { id: Pid::from_child(&child), mark };
        let (tell, exited) = oneshot::channel();
        let (release, released) = mpsc::channel();
        let group = Self { members: members.clone(), release: Some(release) };
        // If no thread can be started, dropping the group kills the command.
        thread::Builder::new()
            .name("flemma-wait".into())
            .spawn(move || wait(child, &members, line.as_ref(), tell, &released))?;
        Ok((group, exited))
    }

    /// Sends a signal to everything that the command has started. This reads `/proc`, which takes milliseconds.
    pub(super) fn signal(&self, signal: Signal) {
        self.members.signal(signal);
    }

    /// Releases the group. Remaining processes keep running, unless they are to be killed after `kill_after`.
    pub(super) fn release(mut self, kill_after: Option<Duration>) {
        if let Some(release) = self.release.take() {
            // The receiving thread ends only after this message.
            let _ = release.send(kill_after);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.release.is_some() {
            // Not on the waiting thread, which ends only when the command has gone.
            let _ = rustix::process::kill_process_group(self.members.id, Signal::KILL);
            let members = self.members.clone();
            // The group may be dropped on the main thread, which must not wait for `/proc`.
            let _ = thread::Builder::new().name("flemma-end".into()).spawn(move || {
                for process in members.mark.processes() {
                    let _ = rustix::process::kill_process(process, Signal::KILL);
                }
            });
        }
    }
}

/// Waits for the exit, reports it, and reaps when the group is released or dropped.
fn wait(
    mut child: Child,
    members: &Members,
    line: Option<&Lifeline>,
    tell: oneshot::Sender<CommandEnd>,
    released: &mpsc::Receiver<Option<Duration>>,
) {
    // The receiver may be gone.
    let _ = tell.send(wait_for_exit(members.id));
    if let Ok(Some(delay)) = released.recv() {
        thread::sleep(delay);
        members.signal(Signal::KILL);
    }
    if let Some(line) = line {
        // The id is not reused yet.
        line.sign_off(&members.mark);
    }
    // It has exited. An error would mean that something else has reaped it.
    let _ = child.wait();
}
fn wait_for_exit(id: Pid) -> CommandEnd {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match rustix::process::waitid(WaitId::Pid(id), options) {
            Ok(Some(status)) => {
                let exited = status.exit_status().map(CommandEnd::Exited);
                return exited
                    .or(status.terminating_signal().map(CommandEnd::Signalled))
                    .unwrap_or(CommandEnd::Unknown);
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return CommandEnd::Unknown,
        }
    }
}
