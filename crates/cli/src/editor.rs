//! A Neovim of this user's on this machine, by its socket.

use std::{
    io::{self, BufReader},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use rmpv::Value;

use super::{
    report::Failure,
    rpc::{self, Message},
    state,
};
use flemma_runtime::holder;

/// How long it may take to answer. It reads its socket while it waits for keys, but not in all of its prompts.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it may take to say that it is there.
const SOON: Duration = Duration::from_secs(2);

/// Where the editor of this user listens that holds a conversation, if one says that it does.
///
/// # Errors
/// When there is no state folder.
pub(super) fn server(conversation: &Path) -> Result<Option<PathBuf>, Failure> {
    Ok(holder::server(&state::locks()?, &state::absolute(conversation)?))
}

/// A connection to the editor of this user that holds a conversation; `None` if there is none.
///
/// # Errors
/// When there is no state folder.
pub(super) fn of(conversation: &Path) -> Result<Option<Editor>, Failure> {
    Ok(server(conversation)?.and_then(|server| Editor::connect(&server).ok()))
}

/// Whether such an editor answers.
///
/// # Errors
/// When there is no state folder.
pub(super) fn has_answering(conversation: &Path) -> Result<bool, Failure> {
    Ok(of(conversation)?.is_some_and(|mut editor| editor.answers()))
}

/// The user who listens at a socket.
#[cfg(target_os = "linux")]
fn listener(_: &Path, to: &UnixStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(to)?.uid.as_raw())
}

/// The user whose socket it is: the system does not say who listens there.
#[cfg(not(target_os = "linux"))]
fn listener(server: &Path, _: &UnixStream) -> io::Result<u32> {
    Ok(std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(server)?))
}

/// A connection.
pub(super) struct Editor {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Editor {
    /// Connects to the Neovim that listens there.
    ///
    /// # Errors
    /// When nobody listens there, or another user does.
    pub(super) fn connect(server: &Path) -> io::Result<Self> {
        let to = UnixStream::connect(server)?;
        if listener(server, &to)? != rustix::process::getuid().as_raw() {
            return Err(io::Error::other("another user listens there"));
        }
        to.set_read_timeout(Some(PATIENCE))?;
        to.set_write_timeout(Some(PATIENCE))?;
        let from = BufReader::new(to.try_clone()?);
        Ok(Self { to, from })
    }

    /// Whether it answers now.
    pub(super) fn answers(&mut self) -> bool {
        let answer = self.to.set_read_timeout(Some(SOON)).and_then(|()| self.lua("return 'here'", &[]));
        let _ = self.to.set_read_timeout(Some(PATIENCE));
        answer.is_ok_and(|answer| answer == "here")
    }

    /// Runs Lua code with texts as its arguments, and gives the text that it returns. The arguments are data: nothing of them
    /// is evaluated.
    ///
    /// # Errors
    /// What it threw, or that there was no answer in time. Then it may still run.
    pub(super) fn lua(&mut self, code: &str, arguments: &[&str]) -> io::Result<String> {
        let arguments = arguments.iter().map(|argument| Value::from(*argument)).collect();
        rpc::request(&mut self.to, "nvim_exec_lua", vec![code.into(), Value::Array(arguments)])?;
        loop {
            match rpc::read(&mut self.from)? {
                Message::Response(value) => return Ok(value.as_str().unwrap_or_default().to_owned()),
                Message::Refusal(problem) => return Err(io::Error::other(problem)),
                Message::Notification(..) => {}
            }
        }
    }
}
