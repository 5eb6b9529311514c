//! Runs a short command and returns its output. The output may be a key, so it is never written to a file.

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

/// The most that is read from each stream of a command that prints a key, in bytes. A key is short, and an error message is cut
/// anyway.
const MAX_OUTPUT: u64 = 64 * 1024;

/// The result of a command: how it ended, and its output.
pub struct CommandOutput {
    /// How it ended.
    pub end: CommandEnd,
    /// Its standard output. There is no `Debug`, because it may be a secret.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Runs `command` without input and without a terminal, and waits until it ends. If it takes longer than `limit`, it is
/// killed with everything it started, and the result is `None`. Dropping the future kills it too.
///
/// # Errors
/// When it cannot be started.
pub async fn output(command: Command, limit: Duration) -> io::Result<Option<CommandOutput>> {
    output_up_to(command, limit, MAX_OUTPUT).await
}

/// The same, with up to `most` bytes of each stream. A command that prints more is ended by that.
///
/// # Errors
/// As [`output`].
pub async fn output_up_to(mut command: Command, limit: Duration, most: u64) -> io::Result<Option<CommandOutput>> {
    let ((out, out_end), (err, err_end)) = (io::pipe()?, io::pipe()?);
    command.stdin(Stdio::null()).stdout(out_end).stderr(err_end);
    let (group, mut exited) = Group::spawn(&mut command)?;
    // This drops our copies of the write ends.
    drop(command);
    let out = pipe::Receiver::from_owned_fd(out.into())?;
    let err = pipe::Receiver::from_owned_fd(err.into())?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let end: Result<_, Elapsed> = {
        let read = async { tokio::join!(read(out, most, &mut stdout), read(err, most, &mut stderr)) };
        tokio::pin!(read);
        timeout(limit, async {
            tokio::select! {
                _ = &mut read => (&mut exited).await,
                end = &mut exited => {
                    // A background process may hold the pipes.
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

/// Reads a pipe up to the limit and closes it. A process that keeps printing gets SIGPIPE.
async fn read(pipe: pipe::Receiver, most: u64, into: &mut Vec<u8>) {
    // Only this process holds the read end, so an error can only mean that no more data will come.
    let _ = pipe.take(most).read_to_end(into).await;
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
