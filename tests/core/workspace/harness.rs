//! A harness: a real workspace with its real background worker, a host of plain lines, scripts that are closures, and a
//! provider at the loopback interface.
//!
//! A test reads like the screen: a text, what the user presses and answers, and what the screen then shows. What happens in
//! the background is waited for by its wake-up, never for a time. One rule is checked on the way: a buffer is locked and
//! shown as busy exactly while its conversation is busy.

use std::{
    cell::Cell,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    rc::Rc,
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use flemma::{
    agent::Choice,
    journal::Role,
    model::UserError,
    tools::{
        approval::{Decision, Resolve},
        declare::Field,
    },
    workspace::{
        Command, Conversation, HypotheticalCall, Resolution, StopTool, Switched, ToolAnswer, Workspace, ports::Question,
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    host::{Buffer, FakeHost},
    scripts::FakeScripts,
};
use crate::{
    chat::notation::screen,
    completions::Stream,
    http::{Gate, Recorded, Reply, Server},
};

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// The buffer of `notes.chat`.
pub const NOTES: i32 = 1;

/// Something that the user does.
pub type Act = fn(&Harness);

/// A whole reply of prose.
pub fn prose(text: &str) -> Reply {
    Reply::stream().chunk(Stream::new().text(&[text]).end("stop").bytes())
}

/// A reply of prose that waits for the test after its first word.
pub fn held(first: &str, gate: &Gate, rest: &str) -> Reply {
    let begin = Stream::new().text(&[first]).bytes();
    Reply::stream().chunk(begin).hold(gate).chunk(Stream::default().text(&[rest]).end("stop").bytes())
}

/// A reply that calls tools: their names and inputs. The ids are `call_0`, `call_1` and so on.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    let stream = calls.into_iter().zip(0..).fold(Stream::new(), |stream, ((tool, input), index)| {
        stream.call(index, &format!("call_{index}"), tool, &[&input.to_string()])
    });
    Reply::stream().chunk(stream.end("tool_calls").bytes())
}

/// The input of a call of `bash`.
pub fn bash(command: &str) -> Value {
    json!({ "label": null, "command": command, "timeout": null })
}

/// A reply that calls `bash` once for each command.
pub fn commands(commands: &[&str]) -> Reply {
    calls(commands.iter().map(|command| ("bash", bash(command))))
}

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
        let root = folder.path().canonicalize().unwrap();
        let (waker, woken) = mpsc::channel();
        let host = Rc::new(FakeHost::new(root.join("work"), waker.clone()));
        let scripts = Rc::<FakeScripts>::default();
        let wake = move || {
            let _ = waker.send(());
        };
        let workspace = Rc::new(Workspace::new(host.clone(), scripts.clone(), &root.join("state"), wake));
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
        chat.put("notes.chat", &(screen(setup.text).join("\n") + "\n"));
        chat.edit("notes.chat");
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
        let chat = Self::start_in(folder, Setup { options, ..Setup::default() }, replies);
        chat.host.clock.set(clock);
        chat.wipe(NOTES);
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

    fn root(&self) -> PathBuf {
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
        while self.workspace.parse_on(conversation.buffer()) {}
        while conversation.index_on() {}
        self.workspace.on_disk(buffer, Some(self.work(name)));
        buffer
    }

    /// The same, before anything of the file is parsed and indexed.
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

    // What the user types.

    #[track_caller]
    fn change(&self, changes: impl IntoIterator<Item = (Range<usize>, Vec<String>)>) {
        assert!(!self.buffer().is_locked.get(), "the buffer is locked");
        assert!(!self.buffer().is_observed.get(), "the buffer is read-only");
        self.host.edit(self.current(), changes);
        self.settle();
    }

    /// Inserts lines above `line`, in one step of undo.
    #[track_caller]
    pub fn type_at(&self, line: usize, text: &str) {
        self.change([(line..line, screen(text))]);
    }

    /// Adds lines at the end.
    #[track_caller]
    pub fn type_below(&self, text: &str) {
        self.type_at(self.buffer().lines().len(), text);
    }

    /// Deletes lines.
    #[track_caller]
    pub fn delete(&self, lines: Range<usize>) {
        self.change([(lines, Vec::new())]);
    }

    /// `:move`: deletes lines, and puts them above `line` of the rest, in one step of undo.
    #[track_caller]
    pub fn move_lines(&self, lines: Range<usize>, line: usize) {
        let moved = self.buffer().lines()[lines.clone()].to_vec();
        self.change([(lines, Vec::new()), (line..line, moved)]);
    }

    /// `:substitute`: replaces the one place where `old` stands. Each line is a change of its own.
    #[track_caller]
    pub fn replace(&self, old: &str, new: &str) {
        let lines = self.buffer().lines();
        let found: Vec<_> = (0..lines.len()).filter(|line| lines[*line].contains(old)).collect();
        let [line] = found[..] else { panic!("`{old}` stands in the lines {found:?} of\n{}", lines.join("\n")) };
        self.replace_line(line, &lines[line].replace(old, new));
    }

    /// Puts other words into a line, as `cc` does.
    #[track_caller]
    pub fn replace_line(&self, line: usize, words: &str) {
        self.change([(line..line + 1, vec![words.to_owned()])]);
    }

    /// `:read`: lines of another file come in above `line`.
    #[track_caller]
    pub fn read_in(&self, line: usize, text: &str) {
        assert!(!self.buffer().is_locked.get(), "the buffer is locked");
        self.host.read_in(self.current(), line, screen(text));
        self.settle();
    }

    #[track_caller]
    pub fn undo(&self) {
        assert!(self.host.undo(self.current()), "there is a step to undo");
        self.settle();
    }

    #[track_caller]
    pub fn redo(&self) {
        assert!(self.host.redo(self.current()), "there is a step to redo");
        self.settle();
    }

    /// `:checktime`: the file has this text now, and is read anew.
    pub fn reload(&self, text: &str) {
        self.buffer().load(screen(text));
        while self.workspace.reloaded(self.current()) {}
        self.settle();
    }

    /// `:write`, under this name. Another name than the buffer's makes a copy.
    pub fn write_to(&self, name: &str) {
        self.put(name, self.buffer().lines().join("\n") + "\n");
        let path = self.work(name);
        self.workspace.saved(self.current(), path.to_str().unwrap().to_owned());
        if *self.buffer().file.borrow() == path.to_str().unwrap() {
            self.buffer().is_modified.set(false);
            self.workspace.on_disk(self.current(), Some(path));
        }
    }

    /// `:write`.
    pub fn write(&self) {
        let path = PathBuf::from(&*self.buffer().file.borrow());
        self.write_to(path.strip_prefix(self.root().join("work")).unwrap().to_str().unwrap());
    }

    /// `:saveas`.
    pub fn save_as(&self, name: &str) {
        *self.buffer().file.borrow_mut() = self.work(name).to_str().unwrap().to_owned();
        self.write_to(name);
    }

    // What the user presses.

    #[track_caller]
    pub fn press(&self, command: Command) {
        self.workspace.dispatch(self.current(), command);
        self.settle();
    }

    /// Ctrl-].
    #[track_caller]
    pub fn go(&self) {
        self.press(Command::Advance);
    }

    /// Ctrl-C.
    #[track_caller]
    pub fn stop(&self) {
        self.press(Command::Cancel);
    }

    /// Alt-Enter in the first line with these words.
    #[track_caller]
    pub fn execute(&self, words: &str) {
        self.press(Command::Execute { line: self.line_with(words) });
    }

    /// `:Flemma tool:approve` in the first line with these words.
    #[track_caller]
    pub fn approve(&self, words: &str) {
        let line = self.line_with(words);
        self.press(Command::Decide { lines: line..line + 1, choice: Choice::Approve });
    }

    /// `:Flemma tool:reject` in the first line with these words.
    #[track_caller]
    pub fn reject(&self, words: &str, message: Option<&str>) {
        let line = self.line_with(words);
        let choice = Choice::Reject(message.map(str::to_owned));
        self.press(Command::Decide { lines: line..line + 1, choice });
    }

    /// `:Flemma tool:approve always` in the first line with these words.
    #[track_caller]
    pub fn always(&self, words: &str) {
        let line = self.line_with(words);
        self.press(Command::AlwaysApprove { lines: line..line + 1 });
    }

    /// Answers the latest question.
    #[track_caller]
    pub fn answer(&self, yes: bool) {
        let latest = self.questions().checked_sub(1).expect("a question");
        self.answer_question(latest, yes);
    }

    /// Answers a question that was asked before, by its place among them.
    #[track_caller]
    pub fn answer_question(&self, nth: usize, yes: bool) {
        let (buffer, question) = {
            let questions = self.host.questions.borrow();
            (questions[nth].0, questions[nth].1)
        };
        self.workspace.dispatch(buffer, Command::Answer { question, is_yes: yes });
        self.settle();
    }

    /// `:Flemma switch`; gives the message.
    #[track_caller]
    pub fn switch(&self, words: &str) -> String {
        match self.try_switch(words) {
            Ok(Switched::Done(message)) => message,
            other => panic!("{words}: {other:?}"),
        }
    }

    pub fn try_switch(&self, words: &str) -> Result<Switched, String> {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        self.workspace.switch(&words).map_err(|error| error.to_string())
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
        use flemma::workspace::Host;
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

    /// How many requests went out, whether or not they have arrived. Nothing has to be waited for to know that there was
    /// none.
    pub fn sent(&self) -> usize {
        let announced = self.host.announced.borrow();
        announced.iter().filter(|line| line.starts_with("sending")).count()
    }

    /// The body of the `n`th request, from 0.
    pub fn body(&self, n: usize) -> Value {
        self.request(n).json()
    }

    pub fn request(&self, n: usize) -> Recorded {
        self.server.wait_for_requests(n + 1)[n].clone()
    }

    /// The results in the `n`th request, in order.
    pub fn results(&self, n: usize) -> Vec<String> {
        let body = self.body(n);
        let messages = body["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap().trim_end().to_owned()).collect()
    }

    /// The names of the tools in the `n`th request.
    pub fn offered(&self, n: usize) -> Vec<String> {
        let body = self.body(n);
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The lines of `:Flemma status`, with one blank where there are several.
    pub fn status(&self) -> Vec<String> {
        let lines = self.workspace.status(&self.conversation()).lines(usize::MAX);
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[track_caller]
    pub fn status_has(&self, line: &str) {
        let lines = self.status();
        assert!(lines.iter().any(|other| other == line), "no `{line}` in\n{}", lines.join("\n"));
    }

    /// What the chain decides about a call in the current buffer, and which resolver did.
    pub fn decision(&self, tool: &str, input: Value) -> (Decision, Option<String>) {
        let buffer = i64::from(self.current());
        self.workspace.resolve(&HypotheticalCall { tool: tool.to_owned(), input, id: "".into(), buffer })
    }

    /// Registers a tool from these fields besides a description and a schema that takes anything.
    pub fn define(&self, name: &str, more: Value) {
        let mut fields = vec![
            ("description".to_owned(), Field::Value(json!("A tool."))),
            ("input_schema".to_owned(), Field::Value(json!({ "type": "object" }))),
        ];
        let more = more.as_object().cloned().unwrap_or_default();
        fields.extend(more.into_iter().map(|(name, value)| (name, Field::Value(value))));
        self.workspace.register_tool(Some(name), fields).unwrap();
    }

    /// `require("flemma.tools").resolve` in the current buffer.
    pub fn resolve(&self, call: &str, resolution: Resolution) -> Result<(), String> {
        let resolved = self.workspace.resolve_now(self.current(), &call.into(), resolution, Role::Script);
        self.settle();
        resolved.map_err(|error| error.to_string())
    }

    /// The ids of the calls that wait, each with what it waits for.
    pub fn waiting(&self) -> Vec<String> {
        let calls = self.workspace.pending_calls(Some(self.current()));
        calls.into_iter().map(|call| format!("{} {}", call.id, call.kind)).collect()
    }

    /// Registers a tool that takes no input.
    pub fn register(&self, name: &str, tool: impl Fn(&Value, ToolAnswer) -> Option<StopTool> + 'static) {
        self.register_with(name, json!({}), tool);
    }

    /// The same, with more fields.
    pub fn register_with(
        &self,
        name: &str,
        more: Value,
        tool: impl Fn(&Value, ToolAnswer) -> Option<StopTool> + 'static,
    ) {
        let mut fields = vec![
            ("description".to_owned(), Field::Value(json!("A tool."))),
            ("input_schema".to_owned(), Field::Value(json!({ "type": "object" }))),
            ("execute".to_owned(), Field::Function(self.scripts.keep(tool))),
        ];
        let more = more.as_object().cloned().unwrap_or_default();
        fields.extend(more.into_iter().map(|(name, value)| (name, Field::Value(value))));
        self.workspace.register_tool(Some(name), fields).unwrap();
    }

    #[track_caller]
    fn check(&self) {
        for number in self.host.numbers() {
            let Some(conversation) = self.workspace.conversation(number) else { continue };
            let (buffer, is_busy) = (self.host.buffer(number), conversation.is_busy());
            assert_eq!(buffer.is_locked.get(), is_busy, "{number} is locked exactly while it is busy");
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
