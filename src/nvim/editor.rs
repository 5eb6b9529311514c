//! Everything that lives as long as Neovim does.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
    time::SystemTime,
};

use mlua::{Lua, Table};

use super::{conversation::Conversation, functions::Functions, host::Host, policy, waker::Waker};
use crate::{
    agent::{Input, Level},
    config::{Config, ConfigError},
    runtime::{ConversationId, Log, Notice, Queue, Report, Worker},
    tools::{Registry, SourceEnd, SourceId, Sources, approval::Chain, overflow},
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
    /// Where the whole of a truncated output is kept for a few days.
    pub(super) outputs: PathBuf,
    config: RefCell<Rc<Config>>,
    conversations: RefCell<BTreeMap<i32, Rc<Conversation>>>,
    last_id: Cell<u64>,
    /// Whether the options name tools that nobody has looked for yet: they may be registered after `setup`.
    unchecked: Cell<bool>,
    /// Only ever set by the export `fault`, which only the tests have.
    fault: Cell<bool>,
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
        let approvals = policy::chain(&config, None).0;
        Ok(Self {
            lua: lua.clone(),
            host: Rc::new(host),
            functions: Functions::default(),
            log: RefCell::default(),
            sources: RefCell::default(),
            worker: Worker::new(queue),
            waker,
            registry: RefCell::new(registry),
            approvals: RefCell::new(approvals),
            outputs: state_dir.join("outputs"),
            config: RefCell::new(config),
            conversations: RefCell::default(),
            last_id: Cell::new(0),
            unchecked: Cell::new(false),
            fault: Cell::new(false),
        })
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

    /// Takes new options. What runs goes on with those that it began with. `log_dir` is where the log lies
    /// unless the options say otherwise. Gives what is odd about the options without being wrong.
    ///
    /// # Errors
    /// Every option that is wrong; then the options before stay.
    pub(super) fn configure(&self, options: &serde_json::Value, log_dir: &Path) -> Result<Vec<String>, ConfigError> {
        let config = Rc::new(Config::from_layers(std::slice::from_ref(options))?);
        let (chain, warnings) = policy::chain(&config, None);
        *self.approvals.borrow_mut() = chain;
        self.registry.borrow_mut().switch(config.tools.switches());
        let logging = &config.logging;
        *self.log.borrow_mut() = if logging.enabled {
            let path = logging.path.as_ref().map_or_else(|| log_dir.join("flemma.log"), PathBuf::from);
            Log::open(path, logging.level)
        } else {
            Log::default()
        };
        self.unchecked.set(true);
        *self.config.borrow_mut() = config;
        Ok(warnings)
    }

    /// The conversation of a buffer.
    pub(super) fn conversation(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.conversations.borrow().get(&buffer).map(Rc::clone)
    }

    /// Takes a buffer in hand.
    pub(super) fn attach(&self, buffer: i32) -> Rc<Conversation> {
        self.detach(buffer);
        if self.last_id.get() == 0 {
            self.clean_outputs();
        }
        self.last_id.set(self.last_id.get() + 1);
        let conversation = Rc::new(Conversation::new(ConversationId(self.last_id.get()), buffer));
        self.conversations.borrow_mut().insert(buffer, Rc::clone(&conversation));
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
            conversation.tasks.stop_all();
        }
    }

    /// Stops everything: Neovim is about to leave.
    pub(super) fn shut_down(&self) {
        for (_, conversation) in std::mem::take(&mut *self.conversations.borrow_mut()) {
            conversation.tasks.stop_all();
        }
    }

    /// Feeds what the tasks left in the queue, one slice of it, and comes back soon if there is more.
    pub(super) fn drain(&self) {
        assert!(!self.fault.take(), "a fault on demand, in the drain");
        let (notices, more) = self.worker.queue().drain();
        if more {
            self.waker.wake();
        }
        let mut failed = None;
        let mut notices = notices.into_iter().peekable();
        while let Some(Notice { conversation: id, report }) = notices.next() {
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
                Report::Expired { call, run } => {
                    catch_unwind(AssertUnwindSafe(|| conversation.expire(self, &call, run)))
                }
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
        if let Some(warning) = warning {
            self.log(Level::Warn, &warning);
            self.host.notify(Level::Warn, &warning);
        }
        if self.sources.borrow().is_ready() {
            let waiting: Vec<_> = self.conversations.borrow().values().map(Rc::clone).collect();
            for conversation in waiting {
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
        let known: Vec<&str> = registry.all().map(|tool| tool.name.as_str()).collect();
        let (_, problems) = policy::chain(&self.config(), Some(&known));
        for problem in problems.iter().filter(|problem| problem.starts_with("unknown tool")) {
            self.host.notify(Level::Warn, &format!("tools.auto_approve: {problem}"));
        }
    }

    /// Makes the next drain panic, and brings it about.
    pub(super) fn panic_in_next_drain(&self) {
        self.fault.set(true);
        self.waker.wake();
    }

    /// Feeds one input to a buffer's conversation.
    pub(super) fn feed(&self, buffer: i32, input: Input) {
        if let Some(conversation) = self.conversation(buffer) {
            conversation.feed(self, [input]);
        }
    }
}
