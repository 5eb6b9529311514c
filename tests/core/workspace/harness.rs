//! A harness: a real workspace with its real background worker, a host of plain lines, scripts that are closures, and a
//! provider at the loopback interface.
//!
//! A test reads like the screen: a text, what the user presses and answers, and what the screen then shows. What happens in
//! the background is waited for by its wake-up, never for a time. One rule is checked on the way: a buffer is locked and
//! shown as busy exactly while its conversation is busy.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use flemma_model::UserError;
use flemma_tools::approval::Resolve;
use flemma_workspace::{Conversation, Workspace, ports::Question};
use serde_json::{Value, json};
use tempfile::TempDir;

pub use super::replies::{bash, calls, commands, held, prose};
use super::{
    host::{Buffer, FakeHost},
    scripts::FakeScripts,
};
use crate::{
    http::{Reply, Server},
    notation::screen,
};

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// The buffer of `notes.chat`.
pub const NOTES: i32 = 1;

/// Something that the user does.
pub type Act = fn(&Harness);

/// How a test begins.
pub struct Setup<'a> {
    /// The text of `notes.chat`, as [`screen`] reads it.
    pub text: &'a str,
    /// More files of the working directory.
    pub files: &'a [(&'a str, &'a str)],
    /// Options, over those that name the provider.
    pub options: Value,
    /// `tools.auto_approve` where that is a function.
    pub policy: Option<Resolve>,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self { text: "@You:\nHello", files: &[], options: Value::Null, policy: None }
    }
}

/// A user in front of a conversation.
pub struct Harness {
    pub workspace: Rc<Workspace>,
    pub host: Rc<FakeHost>,
    pub scripts: Rc<FakeScripts>,
    pub server: Server,
    folder: TempDir,
    woken: Receiver<()>,
    /// The buffer that the user is in.
    current: Cell<i32>,
    last_buffer: Cell<i32>,
    /// How much of what was told, and of the questions, was looked at.
    told: Cell<usize>,
    asked: Cell<usize>,
}

impl Harness {
    /// `notes.chat` with this text, and these replies.
    pub fn new(text: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start(Setup { text, ..Setup::default() }, replies)
    }

    pub fn start(setup: Setup<'_>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "state", "log"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self::start_in(folder, setup, replies)
    }

    /// The same in a folder that was there before.
    fn start_in(folder: TempDir, setup: Setup<'_>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let text = screen(setup.text).join("\n") + "\n";
        let chat = Self::prepare_in(folder, setup, replies);
        chat.put("notes.chat", &text);
        chat.edit("notes.chat");
        chat
    }

    /// An editor that was started in a folder, and has opened nothing.
    fn prepare_in(folder: TempDir, setup: Setup<'_>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let root = folder.path().canonicalize().unwrap();
        let (waker, woken) = mpsc::channel();
        let host = Rc::new(FakeHost::new(root.join("work"), waker.clone()));
        let scripts = Rc::<FakeScripts>::default();
        let wake = move || {
            let _ = waker.send(());
        };
        let workspace = Workspace::new(host.clone(), scripts.clone(), &root.join("state"), wake);
        host.report_to(&workspace);
        let server = Server::start(replies);
        let chat = Self {
            workspace,
            host,
            scripts,
            server,
            folder,
            woken,
            current: Cell::new(NOTES),
            last_buffer: Cell::new(0),
            told: Cell::new(0),
            asked: Cell::new(0),
        };
        chat.set_up(setup.options, setup.policy).unwrap();
        for (name, text) in setup.files {
            chat.put(name, text);
        }
        chat
    }

    /// The user leaves the editor and starts it again: nothing is kept but what is on the disk.
    pub fn restart(self, setup: Setup<'_>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let Self { workspace, host, scripts, folder, .. } = self;
        workspace.shut_down();
        drop((workspace, host, scripts));
        Self::start_in(folder, setup, replies)
    }

    /// `kill -9`, and another start: `notes.chat` has this text then. Nothing is kept but what is on the disk.
    pub fn kill(self, text: &str, options: Value, replies: impl IntoIterator<Item = Reply>) -> Self {
        let clock = self.host.clock.get();
        let Self { workspace, host, scripts, folder, .. } = self;
        drop((workspace, host, scripts));
        // Nothing is opened yet: a lock that was let go a moment ago could still be on its way to this process.
        let chat = Self::prepare_in(folder, Setup { options, ..Setup::default() }, replies);
        chat.host.clock.set(clock);
        chat.put("notes.chat", text);
        chat
    }

    /// `setup`, with the provider of the harness under these options.
    pub fn set_up(&self, options: Value, policy: Option<Resolve>) -> Result<(), Vec<String>> {
        let mut all = json!({
            "provider": "openai_compatible",
            "model": "qwen3",
            "parameters": { "openai_compatible": { "base_url": format!("{}/v1", self.server.base_url()) } },
        });
        lay(&mut all, options);
        let texts = |errors: Vec<UserError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let configured = self.workspace.configure(&all, policy, &self.root().join("log"));
        configured.map_err(texts)
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A path in the working directory.
    pub fn work(&self, name: &str) -> PathBuf {
        self.root().join("work").join(name)
    }

    /// A path in the folder for what is kept between sessions.
    pub fn state(&self, name: &str) -> PathBuf {
        self.root().join("state").join(name)
    }

    /// Puts a file into the working directory.
    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    // Buffers.

    /// `:edit`: opens a file in a new buffer, which is the current one then.
    pub fn edit(&self, name: &str) -> i32 {
        let buffer = self.load(name);
        let conversation = self.workspace.attach(buffer);
        while self.workspace.parse_on(conversation.buffer) {}
        self.workspace.saving.on_disk(buffer, &self.work(name));
        buffer
    }

    /// The same, before anything of the file is parsed.
    pub fn load(&self, name: &str) -> i32 {
        let path = self.work(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().map(str::to_owned).collect();
        let number = self.last_buffer.get() + 1;
        self.last_buffer.set(number);
        self.host.add(number, Buffer::new(lines, path.to_str().unwrap()));
        self.current.set(number);
        number
    }

    /// `:enew` with this text: a conversation without a file.
    pub fn unnamed(&self, text: &str) -> i32 {
        let number = self.last_buffer.get() + 1;
        self.last_buffer.set(number);
        self.host.add(number, Buffer::new(screen(text), ""));
        self.current.set(number);
        self.workspace.attach(number);
        while self.workspace.parse_on(number) {}
        number
    }

    /// Goes to another buffer.
    pub fn go_to(&self, buffer: i32) {
        self.current.set(buffer);
    }

    /// `:bwipeout!`.
    pub fn wipe(&self, buffer: i32) {
        self.workspace.detach(buffer);
        self.host.remove(buffer);
    }

    pub fn current(&self) -> i32 {
        self.current.get()
    }

    pub fn buffer(&self) -> Rc<Buffer> {
        self.host.buffer(self.current())
    }

    pub fn conversation(&self) -> Rc<Conversation> {
        self.workspace.conversation(self.current()).expect("a conversation")
    }

    // The background.

    /// Neovim is ready for the next key: what was scheduled is done.
    #[track_caller]
    pub fn settle(&self) {
        for number in self.host.numbers() {
            if self.host.buffer(number).take_notice() {
                self.workspace.noticed(number);
            }
        }
        self.check();
    }

    /// Takes one slice of what the background has left, if it has left anything.
    #[track_caller]
    pub fn drain_once(&self) -> bool {
        let is_woken = self.woken.try_recv().is_ok();
        if is_woken {
            self.workspace.drain();
            self.settle();
        }
        is_woken
    }

    /// Takes what the background leaves until `condition` holds.
    #[track_caller]
    pub fn drain_until(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        self.settle();
        while !condition(self) {
            if self.woken.recv_timeout(PATIENCE).is_err() {
                panic!("waited in vain for {what}; {}", self.report());
            }
            self.workspace.drain();
            self.settle();
        }
    }

    /// Waits until the text contains `words`, and nothing is going on.
    #[track_caller]
    pub fn wait_for(&self, words: &str) {
        self.drain_until(words, |chat| chat.text().contains(words) && !chat.conversation().is_busy());
    }

    /// Waits until `count` calls wait for the user.
    #[track_caller]
    pub fn wait_for_pending(&self, count: usize) {
        self.drain_until(&format!("{count} calls that wait"), |chat| {
            chat.text().matches("status=pending").count() == count && !chat.conversation().is_busy()
        });
    }

    /// Waits until the user was told this.
    #[track_caller]
    pub fn wait_for_words(&self, words: &str) {
        self.drain_until(words, |chat| chat.host.told.borrow().iter().any(|told| told.contains(words)));
    }

    /// Waits for the next question.
    #[track_caller]
    pub fn wait_for_question(&self) -> Question {
        self.drain_until("a question", |chat| chat.host.questions.borrow().len() > chat.asked.get());
        let question = self.host.questions.borrow()[self.asked.get()].2.clone();
        self.asked.set(self.asked.get() + 1);
        question
    }

    /// Waits until everything that the main thread has asked of the disk so far has been done and heard of.
    #[track_caller]
    pub fn wait_for_disk(&self, path: &Path, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        self.drain_until(&path.display().to_string(), |chat| {
            assert!(Instant::now() < deadline, "`{words}` is not in {}; {}", path.display(), chat.report());
            let text = fs::read_to_string(path).unwrap_or_default();
            if !text.contains(words) {
                // Nothing wakes the main thread when a write has gone well.
                std::thread::yield_now();
                self.host_wakes();
            }
            text.contains(words)
        });
    }

    fn host_wakes(&self) {
        self.host.wake();
    }

    // What there is to see.

    pub fn text(&self) -> String {
        self.buffer().lines().join("\n")
    }

    #[track_caller]
    pub fn shows(&self, expected: &str) {
        assert_eq!(self.text(), screen(expected).join("\n"));
    }

    #[track_caller]
    pub fn line_with(&self, words: &str) -> usize {
        let line = self.buffer().lines().iter().position(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("no line contains `{words}` in\n{}", self.text()))
    }

    /// What the user was told since the last look.
    pub fn told(&self) -> Vec<String> {
        let told = self.host.told.borrow();
        let from = self.told.replace(told.len());
        told[from..].to_vec()
    }

    /// How many questions were asked in all.
    pub fn questions(&self) -> usize {
        self.host.questions.borrow().len()
    }

    /// The lines of `:Flemma status`, with one blank where there are several.
    pub fn status(&self) -> Vec<String> {
        let lines = self.workspace.views.status(&self.conversation()).lines(usize::MAX, true);
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[track_caller]
    pub fn status_has(&self, line: &str) {
        let lines = self.status();
        assert!(lines.iter().any(|other| other == line), "no `{line}` in\n{}", lines.join("\n"));
    }

    #[track_caller]
    fn check(&self) {
        for number in self.host.numbers() {
            let Some(conversation) = self.workspace.conversation(number) else { continue };
            let (buffer, is_busy) = (self.host.buffer(number), conversation.is_busy());
            let is_wanted = conversation.is_wanted();
            assert_eq!(buffer.is_locked.get(), is_busy || is_wanted, "{number} is locked exactly while it is busy");
            assert_eq!(buffer.is_busy.get(), is_busy, "{number} is shown as busy exactly while it is");
        }
    }

    fn report(&self) -> String {
        let buffer = self.buffer();
        format!(
            "the buffer has\n{}\n---- told\n{:#?}\n---- asked\n{:?}\n---- announced\n{:?}\n---- diagnostics\n{:?}",
            self.text(),
            self.host.told.borrow(),
            self.host.questions.borrow(),
            self.host.announced.borrow(),
            buffer.diagnostics.borrow(),
        )
    }
}

/// Lays options over others.
fn lay(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                lay(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (below, above) => *below = above,
    }
}
