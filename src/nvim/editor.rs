//! Everything that lives as long as Neovim does.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
    time::SystemTime,
};

use mlua::{Function, Lua, Table};

use super::{
    approvals, conversation::Conversation, functions::Functions, host::Host, saving::OnDisk, shell::At, waker::Waker,
};
use crate::{
    agent::{Input, Level},
    config::{Config, Logging},
    runtime::{ConversationId, Log, Next, Notice, Queue, Report, Worker, trust::Trusted},
    tools::{
        Policy, Registry, SourceEnd, SourceId, Sources,
        approval::{Chain, Resolution},
        overflow, presets,
    },
    usage::Ledger,
};

/// The one state of the plugin, on the main thread.
pub(super) struct Editor {
    pub(super) lua: Lua,
    pub(super) host: Rc<Host>,
    pub(super) functions: Functions,
    log: RefCell<Log>,
    pub(super) sources: RefCell<Sources>,
    pub(super) worker: Worker,
    pub(super) waker: Waker,
    pub(super) registry: RefCell<Registry>,
    pub(super) approvals: RefCell<Chain>,
    /// The list of the user's `tools.auto_approve`; an empty word where there is none.
    pub(super) policy: RefCell<Policy>,
    /// The resolvers that are modules of the user's `tools.auto_approve`.
    pub(super) modules: RefCell<Vec<String>>,
    /// Whether `tools.auto_approve` is a function.
    pub(super) decides: Cell<bool>,
    /// What the user has trusted; `None` until it was read.
    pub(super) trusted: RefCell<Option<Trusted>>,
    pub(super) reading_trusted: Cell<bool>,
    /// Where that is kept.
    pub(super) trust_store: PathBuf,
    /// Where the whole of a truncated output is kept for a few days.
    pub(super) outputs: PathBuf,
    config: RefCell<Rc<Config>>,
    /// What `setup` was given.
    setup: RefCell<serde_json::Value>,
    /// What the user has set since.
    runtime: RefCell<serde_json::Value>,
    /// Where the log lies unless the options say otherwise.
    log_dir: RefCell<PathBuf>,
    /// Counts what frontmatter depends on beside its own text: options and tools.
    generation: Cell<u64>,
    conversations: RefCell<BTreeMap<i32, Rc<Conversation>>>,
    last_id: Cell<u64>,
    /// Whether the options name tools that nobody has looked for yet: they may be registered after `setup`.
    unchecked: Cell<bool>,
    /// Tools whose slowness was mentioned.
    pub(super) slow_tools: RefCell<BTreeSet<String>>,
    /// What requests have used.
    pub(super) ledger: RefCell<Ledger>,
    /// Only ever set by the export `fault`, which only the tests have.
    fault: Cell<bool>,
    /// What is known of the files that are written now, by buffer. A buffer may be let go before the end.
    pub(super) flights: RefCell<BTreeMap<i32, OnDisk>>,
    /// Where the locks of conversations lie.
    pub(super) locks: PathBuf,
    /// Files that another Neovim has open, and that the user goes on with here all the same.
    pub(super) shared: RefCell<BTreeSet<String>>,
    /// Files of which the user was told that another Neovim has them open.
    pub(super) told_shared: RefCell<BTreeSet<String>>,
}

impl Editor {
    /// Wires the queue to Neovim's loop.
    ///
    /// `state_dir` is the folder for what we keep between sessions.
    ///
    /// # Errors
    /// When the shim is not of this version, or Neovim's loop takes no handle.
    pub(super) fn new(lua: &Lua, host: Table, state_dir: PathBuf) -> mlua::Result<Self> {
        let host = Host::new(lua, host)?;
        let waker = Waker::new(host.waker()?).map_err(mlua::Error::external)?;
        let queue = {
            let waker = waker.clone();
            Arc::new(Queue::new(move || waker.wake()))
        };
        let config = Rc::new(Config::default());
        let registry = Registry::with_builtins();
        let editor = Self {
            lua: lua.clone(),
            host: Rc::new(host),
            functions: Functions::default(),
            log: RefCell::default(),
            sources: RefCell::default(),
            worker: Worker::new(queue),
            waker,
            registry: RefCell::new(registry),
            approvals: RefCell::default(),
            policy: RefCell::default(),
            modules: RefCell::default(),
            decides: Cell::new(false),
            trusted: RefCell::default(),
            reading_trusted: Cell::new(false),
            trust_store: state_dir.join("trust.jsonl"),
            outputs: state_dir.join("outputs"),
            config: RefCell::new(Rc::clone(&config)),
            setup: RefCell::default(),
            runtime: RefCell::default(),
            log_dir: RefCell::default(),
            generation: Cell::new(0),
            conversations: RefCell::default(),
            flights: RefCell::default(),
            last_id: Cell::new(0),
            unchecked: Cell::new(false),
            slow_tools: RefCell::default(),
            ledger: RefCell::default(),
            fault: Cell::new(false),
            locks: state_dir.join("open"),
            shared: RefCell::default(),
            told_shared: RefCell::default(),
        };
        approvals::install(&editor, &config, None);
        Ok(editor)
    }

    /// Writes to the log, where there is one.
    pub(super) fn log(&self, level: Level, line: &str) {
        let log = self.log.borrow();
        match level {
            Level::Info => log.info(line),
            Level::Warn => log.warn(line),
            Level::Error => log.error(line),
        }
    }

    /// The options now in force.
    pub(super) fn config(&self) -> Rc<Config> {
        Rc::clone(&self.config.borrow())
    }

    /// The log, for whoever writes to it from another thread.
    pub(super) fn log_handle(&self) -> Log {
        self.log.borrow().clone()
    }

    /// Logs the resolvers that failed.
    pub(super) fn log_failures(&self, verdict: &Resolution) {
        for failure in &verdict.failures {
            let line = format!("the approval resolver `{}` was passed over: {}", failure.resolver, failure.message);
            self.log(Level::Warn, &line);
        }
    }

    /// A number that changes whenever the options or the tools do.
    pub(super) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// The options or the tools have changed: what frontmatter says may mean something else now.
    pub(super) fn touch(&self) {
        self.generation.set(self.generation.get() + 1);
    }

    /// The options with those of a file over them.
    ///
    /// # Errors
    /// When they do not go together; in words for the user.
    pub(super) fn config_with(&self, file: &serde_json::Value) -> Result<Config, String> {
        let [setup, runtime] = self.layers();
        Config::from_layers(&[setup, runtime, file.clone()]).map_err(|error| error.to_string())
    }

    /// What `setup` was given, without what is no data, and what was set since.
    pub(super) fn layers(&self) -> [serde_json::Value; 2] {
        [self.setup.borrow().clone(), self.runtime.borrow().clone()]
    }

    /// Takes what the user sets while Neovim runs, in the place of what they have set before. What runs goes on with
    /// the options that it began with.
    ///
    /// # Errors
    /// When it does not go together with `setup`; in words for the user.
    pub(super) fn set_runtime(&self, layer: serde_json::Value) -> Result<(), String> {
        let setup = self.setup.borrow().clone();
        let config = Config::from_layers(&[setup, layer.clone()]).map_err(|error| error.to_string())?;
        if config.logging != self.config().logging {
            *self.log.borrow_mut() = self.open_log(&config.logging);
        }
        *self.config.borrow_mut() = Rc::new(config);
        *self.runtime.borrow_mut() = layer;
        self.touch();
        Ok(())
    }

    fn open_log(&self, logging: &Logging) -> Log {
        if logging.enabled { Log::open(self.log_path(logging), logging.level) } else { Log::default() }
    }

    /// The log's file.
    pub(super) fn log_path(&self, logging: &Logging) -> PathBuf {
        logging.path.as_ref().map_or_else(|| self.log_dir.borrow().join("flemma.log"), PathBuf::from)
    }

    /// Takes new options, and forgets what was set since the last ones. What runs goes on with those that it began
    /// with. `log_dir` is where the log lies unless the options say otherwise; `decides` is `tools.auto_approve` where
    /// that is a function. Gives what is odd about the options without being wrong.
    ///
    /// # Errors
    /// Every option that is wrong, in words for the user; then the options before stay.
    pub(super) fn configure(
        &self,
        options: &serde_json::Value,
        decides: Option<Function>,
        log_dir: &Path,
    ) -> Result<Vec<String>, Vec<String>> {
        let taken = self.take(options, decides, log_dir);
        if taken.is_err() && self.setup.borrow().is_null() {
            // Nobody knows which policy it was to be: until there is one, nothing runs by itself.
            let _ = self.take(&serde_json::json!({ "tools": { "auto_approve": [] } }), None, log_dir);
        }
        taken
    }

    fn take(
        &self,
        options: &serde_json::Value,
        decides: Option<Function>,
        log_dir: &Path,
    ) -> Result<Vec<String>, Vec<String>> {
        let config = Config::from_layers(std::slice::from_ref(options))
            .map_err(|error| error.problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let config = Rc::new(config);
        // A rule that does not count would leave undenied what it was to deny.
        let broken = approvals::broken_rules(&config);
        if !broken.is_empty() {
            return Err(broken);
        }
        self.decides.set(decides.is_some());
        let warnings = approvals::install(self, &config, decides);
        self.registry.borrow_mut().switch(config.tools.switches());
        log_dir.clone_into(&mut self.log_dir.borrow_mut());
        *self.log.borrow_mut() = self.open_log(&config.logging);
        self.unchecked.set(true);
        *self.config.borrow_mut() = config;
        *self.setup.borrow_mut() = options.clone();
        *self.runtime.borrow_mut() = serde_json::Value::Null;
        self.touch();
        Ok(warnings)
    }

    /// The conversation of a buffer.
    pub(super) fn conversation(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.conversations.borrow().get(&buffer).map(Rc::clone)
    }

    /// All conversations.
    pub(super) fn all_conversations(&self) -> Vec<Rc<Conversation>> {
        self.conversations.borrow().values().map(Rc::clone).collect()
    }

    /// Takes a buffer in hand.
    pub(super) fn attach(&self, buffer: i32) -> Rc<Conversation> {
        self.detach(buffer);
        if self.last_id.get() == 0 {
            self.clean_outputs();
        }
        self.last_id.set(self.last_id.get() + 1);
        let on_disk = self.flights.borrow().get(&buffer).cloned().unwrap_or_default();
        let conversation = Rc::new(Conversation::new(ConversationId(self.last_id.get()), buffer, on_disk));
        self.conversations.borrow_mut().insert(buffer, Rc::clone(&conversation));
        conversation.hold(self, &self.host.place(buffer).0);
        conversation
    }

    /// Deletes old outputs, away from the main thread. What cannot be deleted today is deleted another day.
    fn clean_outputs(&self) {
        let outputs = self.outputs.clone();
        if let Ok(threads) = self.worker.handle() {
            threads.spawn_blocking(move || overflow::clean(&outputs, overflow::KEEP, SystemTime::now()));
        }
    }

    /// Lets go of a buffer that is gone: what ran for it is stopped, and nothing is written any more.
    pub(super) fn detach(&self, buffer: i32) {
        let conversation = self.conversations.borrow_mut().remove(&buffer);
        if let Some(conversation) = conversation {
            conversation.session.account(&At { editor: self, conversation: &conversation }, false);
            conversation.tasks.stop_all();
        }
    }

    /// Stops everything: Neovim is about to leave.
    pub(super) fn shut_down(&self) {
        for (_, conversation) in std::mem::take(&mut *self.conversations.borrow_mut()) {
            conversation.tasks.stop_all();
        }
    }

    /// Feeds what the tasks left in the queue, one slice of it, and comes back when the queue says so.
    pub(super) fn drain(&self) {
        let (notices, next) = self.worker.queue().drain();
        let fed = catch_unwind(AssertUnwindSafe(|| self.feed_slice(notices)));
        match next {
            Next::Woken => {}
            Next::Now => self.waker.wake(),
            // Counted from here: however long a slice takes, the user's keys get the pause.
            Next::After(pause) => self.host.wake_after(pause),
        }
        if let Err(panic) = fed {
            resume_unwind(panic);
        }
    }

    /// Feeds notices to their conversations.
    fn feed_slice(&self, notices: Vec<Notice>) {
        assert!(!self.fault.take(), "a fault on demand, in the drain");
        let mut failed = None;
        let mut notices = notices.into_iter().peekable();
        while let Some(Notice { conversation: id, report }) = notices.next() {
            let report = match report {
                Report::Trust(trusted) => {
                    self.trust_was_read(trusted);
                    continue;
                }
                Report::Models(asked, models) => {
                    self.models_arrived(asked, models);
                    continue;
                }
                Report::Saved { buffer, tick, problem } => {
                    self.host.saved(buffer, tick, problem);
                    continue;
                }
                other => other,
            };
            let conversation = self.conversations.borrow().values().find(|other| other.id == id).map(Rc::clone);
            let Some(conversation) = conversation else { continue };
            let fed = match report {
                Report::Input(input) => {
                    let mut inputs = vec![input];
                    while let Some(Notice { report: Report::Input(input), .. }) =
                        notices.next_if(|next| next.conversation == id && matches!(next.report, Report::Input(_)))
                    {
                        inputs.push(input);
                    }
                    catch_unwind(AssertUnwindSafe(|| conversation.feed(self, inputs)))
                }
                Report::Warning(words) => {
                    self.log(Level::Warn, &words);
                    catch_unwind(AssertUnwindSafe(|| self.host.notify(Level::Warn, &words)))
                }
                Report::Estimate(estimate) => catch_unwind(AssertUnwindSafe(|| {
                    self.host.estimate(&estimate.lines(), estimate.warning().as_deref());
                })),
                Report::Expired { call, run, limit } => {
                    catch_unwind(AssertUnwindSafe(|| conversation.expire(self, &call, run, limit)))
                }
                Report::Hold { path, hold } => {
                    catch_unwind(AssertUnwindSafe(|| conversation.hold_was_tried(self, &path, hold)))
                }
                Report::CutOff => catch_unwind(AssertUnwindSafe(|| conversation.mark_cut_off(self))),
                Report::LeftOut(files) => catch_unwind(AssertUnwindSafe(|| conversation.files_were_read(self, files))),
                Report::ExternalPaths(outside) => {
                    catch_unwind(AssertUnwindSafe(|| conversation.files_were_looked_at(self, outside)))
                }
                Report::Trust(_) | Report::Models(..) | Report::Saved { .. } => continue,
            };
            failed = failed.or(fed.err());
        }
        if let Some(panic) = failed {
            // One conversation's accident is no other's: the rest of the slice was fed all the same.
            resume_unwind(panic);
        }
    }

    /// A source of tools ends. When it was the last one, the conversations that wait go on.
    pub(super) fn end_source(&self, id: SourceId, how: &SourceEnd) {
        let warning = self.sources.borrow_mut().end(id, how);
        self.touch();
        if let Some(warning) = warning {
            self.log(Level::Warn, &warning);
            self.host.notify(Level::Warn, &warning);
        }
        if self.sources.borrow().is_ready() {
            for conversation in self.all_conversations() {
                conversation.feed(self, [Input::ToolsReady]);
            }
        }
    }

    /// Tells the user, once, of tools in `auto_approve` and in presets that there are not. All sources have loaded.
    pub(super) fn check_names(&self) {
        if !self.unchecked.replace(false) {
            return;
        }
        let registry = self.registry.borrow();
        let config = self.config();
        let (presets, _) = approvals::presets(&config);
        let listed = config.tools.auto_approve.iter().filter(|entry| !presets::is_module(entry));
        let in_presets = config.tools.presets.values().flat_map(|preset| preset.approve.iter().chain(&preset.deny));
        // Unknown presets were reported by `setup`.
        let tools: BTreeSet<&String> = listed.chain(in_presets).filter(|entry| !entry.starts_with('$')).collect();
        for problem in tools.into_iter().filter_map(|entry| presets::check(entry, &presets, Some(&*registry)).err()) {
            self.host.notify(Level::Warn, &format!("tools.auto_approve: {problem}"));
        }
    }

    /// Makes the next drain panic, and brings it about.
    pub(super) fn panic_in_next_drain(&self) {
        self.fault.set(true);
        self.waker.wake();
    }

    /// The user wants something of a buffer's conversation.
    pub(super) fn want(&self, buffer: i32, input: Input) {
        if let Some(conversation) = self.conversation(buffer) {
            conversation.want_alone(self, input);
        }
    }

    /// Feeds one input to a buffer's conversation.
    pub(super) fn feed(&self, buffer: i32, input: Input) {
        if let Some(conversation) = self.conversation(buffer) {
            conversation.feed(self, [input]);
        }
    }
}
