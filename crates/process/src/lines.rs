//! A child process that is spoken to line by line.

use std::{
    io::{self, BufRead, BufReader, PipeWriter, Write},
    process::{Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::group::Group;

/// The child. It is killed when this is dropped, and when this process ends.
pub struct Lines {
    to: PipeWriter,
    lines: Receiver<Vec<u8>>,
    _group: Group,
}

impl Lines {
    /// Starts a command. What it says on its standard error is not read.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let ((stdin, to), (from, stdout)) = (io::pipe()?, io::pipe()?);
        command.stdin(stdin).stdout(stdout).stderr(Stdio::null());
        let (group, _) = Group::spawn(&mut command)?;
        // This drops our copies of the child's ends.
        drop(command);
        let (tell, lines) = mpsc::channel();
        thread::Builder::new().name("flemma-lines".into()).spawn(move || {
            for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { to, lines, _group: group })
    }

    /// Says a line to it, which must not contain a line break.
    ///
    /// # Errors
    /// When it does not listen any more.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        self.to.write_all(format!("{line}\n").as_bytes())
    }

    /// The next line that it says; blocks for so long.
    ///
    /// # Errors
    /// When it has said nothing in that time, or nothing more will come.
    pub fn next(&self, patience: Duration) -> Result<Vec<u8>, RecvTimeoutError> {
        self.lines.recv_timeout(patience)
    }
}
