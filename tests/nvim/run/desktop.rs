//! A user with a configuration, conversations, and a shell.

use std::{
    env, fs,
    io::Read,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use crate::{
    chat::{KEY, init},
    http::{Reply, Server},
    said::Said,
};

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The user.
pub struct Desktop {
    home: TempDir,
    pub server: Server,
}

impl Desktop {
    /// A user whose model answers with these replies, with more fields for `setup` and Lua after it. `notes.chat` says hello.
    pub fn new(options: &str, lua: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(options, lua, Server::start(replies))
    }

    /// The same with this model.
    pub fn with(options: &str, lua: &str, server: Server) -> Self {
        let home = tempfile::Builder::new().prefix("flemma-test-").tempdir().unwrap();
        let desktop = Self { home, server };
        let root = env!("CARGO_MANIFEST_DIR");
        let init = init(&desktop.server.base_url(), options);
        desktop.put("config/nvim/init.lua", &format!("vim.opt.runtimepath:prepend([==[{root}]==])\n{init}\n{lua}"));
        desktop.configure("");
        desktop.put("work/notes.chat", "@You:\nHello\n");
        desktop
    }

    /// More of the command line's configuration.
    pub fn configure(&self, more: &str) {
        let nvim = env::var("FLEMMA_NVIM").unwrap_or_else(|_| "nvim".into());
        self.put("config/flemma/config.toml", &format!("nvim = '{nvim}'\n{more}"));
    }

    /// A file of the home.
    pub fn put(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A path in the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("work").join(name)
    }

    /// The text of a file in the working directory; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
        command.args(arguments).current_dir(self.home.path().join("work")).env_clear();
        for name in ["PATH", "LD_LIBRARY_PATH", "FLEMMA_NATIVE"] {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        for (name, folder) in [
            ("HOME", "."),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(name, self.home.path().join(folder));
        }
        command.env("ANTHROPIC_API_KEY", KEY).env("LC_ALL", "C.UTF-8");
        // A group of its own, as a shell makes it, so that a signal does not reach the tests.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts `flemma` with these arguments.
    pub fn spawn(&self, arguments: &[&str]) -> Running {
        Running(self.command(arguments).spawn().unwrap())
    }

    /// Runs `flemma` with these arguments.
    pub fn flemma(&self, arguments: &[&str]) -> Said {
        self.spawn(arguments).wait()
    }

    /// The processes of the user's Neovims.
    pub fn neovims(&self) -> Vec<Pid> {
        let home = format!("HOME={}", self.home.path().join(".").display());
        let processes =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let is_ours = |process: &i32| {
            let read = |name: &str| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
            let has = |bytes: &[u8], words: &str| bytes.split(|byte| *byte == 0).any(|part| part == words.as_bytes());
            has(&read("environ"), &home) && has(&read("cmdline"), "--embed")
        };
        processes.filter(is_ours).filter_map(Pid::from_raw).collect()
    }

    /// Waits until the user's Neovims are gone. On a busy machine, a process that was killed is seen for a while.
    pub fn wait_for_neovims_to_exit(&self) {
        wait_for("Neovim to exit", || self.neovims().is_empty());
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for neovim in self.neovims() {
            let _ = kill_process(neovim, Signal::KILL);
        }
    }
}

/// A command that runs. It ends with this.
pub struct Running(Child);

impl Running {
    pub fn of(child: Child) -> Self {
        Self(child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    /// Its Neovim, if it has one now.
    pub fn neovim(&self) -> Option<Pid> {
        let process = self.0.id();
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
        Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Waits for the end.
    #[track_caller]
    pub fn wait(mut self) -> Said {
        let (out, err) = (read_on(self.0.stdout.take().unwrap()), read_on(self.0.stderr.take().unwrap()));
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the command does not end");
            thread::sleep(Duration::from_millis(5));
        };
        Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }.into()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Reads to the end in the background.
fn read_on(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}
