//! A Neovim without a user interface, with the user's configuration, in which one conversation is carried on.
//!
//! It is spoken to through its standard input and output. If this process is killed, Neovim sees the end of its input, ends
//! what is under way, and exits.

use std::{
    io::{self, BufReader, Read},
    mem,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use rmpv::Value;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value as Json;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::rpc::{self, Message};

/// How long it may take to exit.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// How long its last words may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How much of what it printed is kept, in bytes.
const KEPT: usize = 2048;

/// How often it is asked whether it waits for a key.
const TICK: Duration = Duration::from_secs(1);

/// `vim.log.levels.WARN`.
pub(super) const WARN: u64 = 3;

/// What runs in it. Its arguments are the channel, the path, and the options. Flemma is there once the configuration is read,
/// or, with some plugin managers, once a conversation is open.
///
/// Before that, it tells the errors of the configuration, which the user of an editor sees. What failed may have been a policy or
/// a tool, or what loads Flemma. They are in the messages, as `v:errmsg` is also set by what is `:silent!`.
const RUN: &str = include_str!("headless.lua");

/// What cancels the questions of Lua, before the configuration is read. Without a user interface, `confirm()` would take its default,
/// and nothing tells that `getchar()` waits.
const QUESTIONS: &str = include_str!("questions.lua");
const STOP: &str = "require('flemma.command_line.headless').stop()";

/// Something that happens while a conversation is carried on.
#[derive(Debug)]
pub(super) enum Happening {
    /// The conversation is being carried on.
    Begun,
    /// It could not begin: Neovim does not have Flemma, or not this version of it.
    Refused(String),
    /// A message to the user, with its level (`:help vim.log.levels`).
    Message(u64, String),
    /// The end.
    End(Json),
    /// A signal to this process.
    Signal(i32),
    /// Neovim has exited.
    Gone,
    /// Neovim says in which mode it is, and whether it waits for a key.
    Mode(String, bool),
}

/// The Neovim.
pub(super) struct Headless {
    child: Child,
    happenings: Receiver<Happening>,
    printed: Receiver<String>,
    /// Whether it was asked for its mode, and has not answered.
    is_asked: bool,
    /// Whether it waited for a key when it last answered.
    is_blocked: bool,
}

impl Headless {
    /// Starts it. The conversation at `path` is carried on once the configuration is read; `options` are those of
    /// `lua/flemma/command_line/headless.lua`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(program: &Path, path: &str, options: &Json) -> io::Result<Self> {
        let (tell, happenings) = mpsc::channel();
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let mut child = Command::new(program)
            // Without swap files, whose questions nobody answers, and without a history that many would write at once.
            .args(["--embed", "--headless", "-n", "-i", "NONE", "--cmd"])
            .arg(format!("lua (function(...) {} end)(1)", QUESTIONS.replace('\n', " ")))
            // The keys of the terminal are for this process.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(from), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let (tell_printed, printed) = mpsc::channel();
        let tell_happening = tell.clone();
        thread::spawn(move || listen(BufReader::new(from), &tell_happening));
        thread::spawn(move || tell_printed.send(last_of(errors)));
        thread::spawn(move || {
            for signal in signals.forever() {
                if tell.send(Happening::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        // The channel of `--embed` (`:help --embed`, `:help channel-intro`).
        let arguments = vec![1.into(), path.into(), options.to_string().into()];
        let mut neovim = Self { child, happenings, printed, is_asked: false, is_blocked: false };
        neovim.request("nvim_exec_lua", vec![RUN.into(), Value::Array(arguments)]);
        Ok(neovim)
    }

    /// Sends a request, and says whether it was sent. A Neovim that cannot read it has exited, which is heard of.
    fn request(&mut self, method: &str, arguments: Vec<Value>) -> bool {
        self.child.stdin.as_mut().is_some_and(|to| rpc::request(to, method, arguments).is_ok())
    }

    /// The next that happens; `None` if nothing does until then.
    pub(super) fn next(&mut self, until: Option<Instant>) -> Option<Happening> {
        loop {
            let tick = Instant::now() + TICK;
            let end = until.map_or(tick, |until| until.min(tick));
            match self.happenings.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Happening::Mode(mode, is_blocked)) => {
                    self.is_asked = false;
                    // A key that is pressed a moment too late would mean something else.
                    let is_stuck = is_blocked && mem::replace(&mut self.is_blocked, is_blocked);
                    if is_stuck && self.press(&mode) {
                        let words = "Neovim asked for a key or for text, which nobody can give it here. This was cancelled; \
                                     your configuration or a tool has to do without";
                        return Some(Happening::Message(WARN, words.to_owned()));
                    }
                }
                Ok(happening) => return Some(happening),
                Err(RecvTimeoutError::Timeout) if until.is_some_and(|until| Instant::now() >= until) => return None,
                Err(RecvTimeoutError::Timeout) if self.is_asked => {}
                Err(RecvTimeoutError::Timeout) => self.is_asked = self.request("nvim_get_mode", Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return Some(Happening::Gone),
            }
        }
    }

    /// Presses the key that ends what Neovim waits for. Says whether that was a question, rather than more to read
    /// (`:help mode()`).
    fn press(&mut self, mode: &str) -> bool {
        self.is_blocked = false;
        let (keys, is_question) = match mode {
            "r" => ("<CR>", false),
            "rm" => ("G", false),
            _ => ("<C-c>", true),
        };
        self.request("nvim_input", vec![keys.into()]);
        is_question
    }

    /// Ends what is under way, as Ctrl-C does in an editor. The end follows.
    pub(super) fn stop(&mut self) {
        self.request("nvim_exec_lua", vec![STOP.into(), Value::Array(Vec::new())]);
    }

    /// Lets it exit, and waits for that. One that does not is killed.
    pub(super) fn close(&mut self) {
        self.request("nvim_command", vec!["qall!".into()]);
        // The end of its input.
        drop(self.child.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(PAUSE),
                _ => return,
            }
        }
        self.kill();
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        // With its group: it may be a script that started Neovim.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    /// The last that it printed, which is mostly an error in the configuration. Nothing, as long as it or a child of it may
    /// print more.
    pub(super) fn printed(&self) -> String {
        self.printed.recv_timeout(LAST_WORDS).unwrap_or_default()
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

/// Reads what Neovim sends, until it is gone.
fn listen(mut from: impl Read, tell: &Sender<Happening>) {
    while let Ok(message) = rpc::read(&mut from) {
        let happening = match message {
            Message::Response(Value::Map(fields)) => mode(&fields),
            Message::Refusal(problem) => Some(Happening::Refused(problem)),
            Message::Notification(method, arguments) if method == "flemma" => happening(&arguments),
            Message::Response(_) | Message::Notification(..) => None,
        };
        if happening.is_some_and(|happening| tell.send(happening).is_err()) {
            return;
        }
    }
    let _ = tell.send(Happening::Gone);
}

/// What `lua/flemma/command_line/headless.lua` tells.
fn happening(arguments: &[Value]) -> Option<Happening> {
    let (event, words) = arguments.split_first()?;
    Some(match (event.as_str()?, words) {
        ("message", [level, message]) => Happening::Message(level.as_u64()?, text(message)),
        ("begun", []) => Happening::Begun,
        ("refused", [problem]) => Happening::Refused(text(problem)),
        ("end", [result]) => Happening::End(serde_json::from_str(&text(result)).unwrap_or_default()),
        _ => return None,
    })
}

/// The answer of `nvim_get_mode`.
fn mode(fields: &[(Value, Value)]) -> Option<Happening> {
    let get = |name: &str| fields.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value);
    let mode = text(get("mode")?);
    // The command line of `input()` handles events, so Neovim does not say that it blocks.
    let is_blocked = get("blocking")?.as_bool()? || mode == "c";
    Some(Happening::Mode(mode, is_blocked))
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| String::from_utf8_lossy(value.as_slice().unwrap_or_default()).into_owned(), str::to_owned)
}

/// The last of what is printed.
fn last_of(mut from: impl Read) -> String {
    let (mut printed, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(length @ 1..) = from.read(&mut piece) {
        printed.extend_from_slice(&piece[..length]);
        let excess = printed.len().saturating_sub(KEPT);
        printed.drain(..excess);
    }
    String::from_utf8_lossy(&printed).trim().to_owned()
}
