//! One question to a command: what it prints is a key, so that nothing of it reaches a file.

use std::{
    io,
    process::{Command, Stdio},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    time::{error::Elapsed, timeout},
};

pub use super::group::CommandEnd;
use super::{GRACE, group::Group};

/// The most that is read of each of the two outputs, in bytes: a key is short, and an error is cut anyway.
const MAX_OUTPUT: u64 = 64 * 1024;

/// How a command ended, and what it printed.
pub struct CommandOutput {
    /// How it ended.
    pub end: CommandEnd,
    /// What it printed. It has no `Debug`, because that may be a secret.
    pub stdout: Vec<u8>,
    /// Its errors.
    pub stderr: Vec<u8>,
}

/// Runs `command` without input and without a terminal to ask on, and waits for its end; `None` if it takes longer than
/// `limit`, and is killed then with all that it started. So it is if the future is dropped.
///
/// # Errors
/// When it cannot be started.
pub async fn output(mut command: Command, limit: Duration) -> io::Result<Option<CommandOutput>> {
    let ((out, out_end), (err, err_end)) = (io::pipe()?, io::pipe()?);
    command.stdin(Stdio::null()).stdout(out_end).stderr(err_end);
    let (group, mut exited) = Group::spawn(&mut command)?;
    // With the command go our copies of the ends that are written to.
    drop(command);
    let out = pipe::Receiver::from_owned_fd(out.into())?;
    let err = pipe::Receiver::from_owned_fd(err.into())?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let end: Result<_, Elapsed> = {
        let read = async { tokio::join!(read(out, &mut stdout), read(err, &mut stderr)) };
        tokio::pin!(read);
        timeout(limit, async {
            tokio::select! {
                _ = &mut read => (&mut exited).await,
                end = &mut exited => {
                    // Something that it left running may hold the pipes.
                    let _ = timeout(GRACE, &mut read).await;
                    end
                }
            }
        })
        .await
    };
    let Ok(end) = end else { return Ok(None) };
    group.release(None);
    Ok(Some(CommandOutput { end: end.unwrap_or(CommandEnd::Unknown), stdout, stderr }))
}

/// Reads a pipe up to the limit, and closes it: whoever goes on printing ends by that.
async fn read(pipe: pipe::Receiver, into: &mut Vec<u8>) {
    // An error on a pipe that we hold alone can only mean that nothing more will come.
    let _ = pipe.take(MAX_OUTPUT).read_to_end(into).await;
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
