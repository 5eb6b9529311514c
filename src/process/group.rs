//! A command and everything it starts, as one thing that can be signalled.
//!
//! The command's id is the group's id, and it must stay ours as long as the group may be signalled: once the command
//! is reaped, the system may give its id to somebody else. So a thread waits for the exit without reaping, reports
//! it, and reaps only when the group is released. What has left the group is found by its [`ProcessMark`].

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
    /// Nobody can say: the system did not tell, or it cannot be killed.
    Unknown,
}

/// The group that a command leads. Dropping it before it is released kills it.
pub(super) struct Group {
    members: Members,
    release: Option<mpsc::Sender<Option<Duration>>>,
}

/// Whom a signal reaches.
#[derive(Clone)]
struct Members {
    id: Pid,
    mark: ProcessMark,
}

impl Members {
    /// Sends a signal to every process of the group, and to those that have left it. That none is left is no error.
    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.id, signal);
        for process in self.mark.processes() {
            let _ = rustix::process::kill_process(process, signal);
        }
    }
}

impl Group {
    /// Starts a command as the leader of a new session and group, which ends with this process at the latest. The
    /// receiver gets how it ended.
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Self, oneshot::Receiver<CommandEnd>)> {
        let mark = ProcessMark::put_on(command);
        let line = watchdog::line();
        let (own_line, own_mark) = (line.clone(), mark.clone());
        // SAFETY: between fork and exec only what is async-signal-safe may run; setsid(2), getpid(2) and write(2) are,
        // and nothing allocates.
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
            // It may have announced itself before it could not be executed.
            if let Some(line) = &line {
                line.sign_off(&mark);
            }
        })?;
        let members = Members { id: Pid::from_child(&child), mark };
        let (tell, exited) = oneshot::channel();
        let (release, released) = mpsc::channel();
        let group = Self { members: members.clone(), release: Some(release) };
        // If there is no thread to be had, dropping the group kills the command.
        thread::Builder::new()
            .name("flemma-wait".into())
            .spawn(move || wait(child, &members, line.as_ref(), tell, &released))?;
        Ok((group, exited))
    }

    /// Sends a signal to everything that the command has started. It reads `/proc`, which takes milliseconds.
    pub(super) fn signal(&self, signal: Signal) {
        self.members.signal(signal);
    }

    /// Lets the group go: processes that are left in it go on, unless they are to be killed after `kill_after`.
    pub(super) fn release(mut self, kill_after: Option<Duration>) {
        if let Some(release) = self.release.take() {
            // The thread that listens ends only after this message.
            let _ = release.send(kill_after);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.release.is_some() {
            // Not by the thread that waits: the command has to go for that to end.
            let _ = rustix::process::kill_process_group(self.members.id, Signal::KILL);
            let members = self.members.clone();
            // Whoever drops it may be the main thread, or one that must not wait for `/proc`.
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
    // The call may have been given up meanwhile.
    let _ = tell.send(wait_for_exit(members.id));
    if let Ok(Some(delay)) = released.recv() {
        thread::sleep(delay);
        members.signal(Signal::KILL);
    }
    if let Some(line) = line {
        // While the id is still ours.
        line.sign_off(&members.mark);
    }
    // It has exited; an error would mean that somebody else has reaped it.
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
