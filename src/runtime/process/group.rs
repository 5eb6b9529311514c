//! A command and everything it starts, as one thing that can be signalled.
//!
//! The command's id is the group's id, and it must stay ours as long as the group may be signalled: once the command
//! is reaped, the system may give its id to somebody else. So a thread waits for the exit without reaping, reports
//! it, and reaps only when the group is released.

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

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Nobody can say: the system did not tell, or it cannot be killed.
    Unknown,
}

/// The group that a command leads. Dropping it before it is released kills it.
pub(super) struct Group {
    id: Pid,
    release: Option<mpsc::Sender<Option<Duration>>>,
}

impl Group {
    /// Starts a command as the leader of a new session and group. The receiver gets how it ended.
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Self, oneshot::Receiver<End>)> {
        // SAFETY: between fork and exec only what is async-signal-safe may run; setsid(2) is, and nothing allocates.
        unsafe {
            command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
        }
        let child = command.spawn()?;
        let id = Pid::from_child(&child);
        let (tell, exited) = oneshot::channel();
        let (release, released) = mpsc::channel();
        let group = Self { id, release: Some(release) };
        // If there is no thread to be had, dropping the group kills the command.
        thread::Builder::new().name("flemma-wait".into()).spawn(move || wait(child, id, tell, &released))?;
        Ok((group, exited))
    }

    /// Sends a signal to every process of the group. That none is left is no error.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.id, signal);
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
            self.signal(Signal::KILL);
        }
    }
}

/// Waits for the exit, reports it, and reaps when the group is released or dropped.
fn wait(mut child: Child, id: Pid, tell: oneshot::Sender<End>, released: &mpsc::Receiver<Option<Duration>>) {
    // The call may have been given up meanwhile.
    let _ = tell.send(wait_for_exit(id));
    if let Ok(Some(delay)) = released.recv() {
        thread::sleep(delay);
        let _ = rustix::process::kill_process_group(id, Signal::KILL);
    }
    // It has exited; an error would mean that somebody else has reaped it.
    let _ = child.wait();
}

fn wait_for_exit(id: Pid) -> End {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match rustix::process::waitid(WaitId::Pid(id), options) {
            Ok(Some(status)) => {
                let exited = status.exit_status().map(End::Exited);
                return exited.or(status.terminating_signal().map(End::Signalled)).unwrap_or(End::Unknown);
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return End::Unknown,
        }
    }
}
