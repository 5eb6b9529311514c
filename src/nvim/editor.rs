//! Everything that lives as long as Neovim does.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::SystemTime,
};

use mlua::{Lua, Table};

use super::{conversation::Conversation, host::Host, policy, waker::Waker};
use crate::{
    agent::Input,
    config::{Config, ConfigError},
    runtime::{ConversationId, Notice, Queue, Report, Worker},
    tools::{Registry, approval::Chain, overflow},
};

/// The one state of the plugin, on the main thread.
pub(super) struct Editor {
    pub(super) host: Host,
    pub(super) worker: Worker,
    pub(super) waker: Waker,
    pub(super) registry: RefCell<Registry>,
    pub(super) approvals: RefCell<Chain>,
    /// Where the whole of a truncated output is kept for a few days.
    pub(super) outputs: PathBuf,
    config: RefCell<Rc<Config>>,
    conversations: RefCell<BTreeMap<i32, Rc<Conversation>>>,
    last_id: Cell<u64>,
    /// Only ever set by the export `fault`, which only the tests have.
    fault: Cell<bool>,
}

impl Editor {
    /// Starts the runtime and wires the queue to Neovim's loop.
    ///
    /// `state_dir` is the folder for what we keep between sessions.
    ///
    /// # Errors
    /// When the shim is not of this version, or the system gives no threads.
    pub(super) fn new(lua: &Lua, host: Table, state_dir: PathBuf) -> mlua::Result<Self> {
        let host = Host::new(lua, host)?;
        let waker = Waker::new(host.waker()?).map_err(mlua::Error::external)?;
        let queue = {
            let waker = waker.clone();
            Arc::new(Queue::new(move || waker.wake()))
        };
        let worker = Worker::start(queue)?;
        let outputs = state_dir.join("outputs");
        let cleaning = outputs.clone();
        let _ = worker.spawn(async move {
            // What cannot be cleaned today is cleaned another day.
            let _ = tokio::task::spawn_blocking(move || overflow::clean(&cleaning, overflow::KEEP, SystemTime::now()))
                .await;
        });
        let config = Rc::new(Config::default());
        let registry = Registry::with_builtins();
        let approvals = policy::chain(&config, &registry).0;
        Ok(Self {
            host,
            worker,
            waker,
            registry: RefCell::new(registry),
            approvals: RefCell::new(approvals),
            outputs,
            config: RefCell::new(config),
            conversations: RefCell::default(),
            last_id: Cell::new(0),
            fault: Cell::new(false),
        })
    }

    /// The options now in force.
    pub(super) fn config(&self) -> Rc<Config> {
        Rc::clone(&self.config.borrow())
    }

    /// Takes new options. What runs goes on with those that it began with.
    ///
    /// # Errors
    /// Every option that is wrong; then the options before stay.
    pub(super) fn configure(&self, options: &serde_json::Value) -> Result<Vec<String>, ConfigError> {
        let config = Rc::new(Config::from_layers(std::slice::from_ref(options))?);
        let (chain, warnings) = policy::chain(&config, &self.registry.borrow());
        *self.approvals.borrow_mut() = chain;
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
        self.last_id.set(self.last_id.get() + 1);
        let conversation = Rc::new(Conversation::new(ConversationId(self.last_id.get()), buffer));
        self.conversations.borrow_mut().insert(buffer, Rc::clone(&conversation));
        conversation
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
        let mut notices = notices.into_iter().peekable();
        while let Some(Notice { conversation: id, report }) = notices.next() {
            let conversation = self.conversations.borrow().values().find(|other| other.id == id).map(Rc::clone);
            let Some(conversation) = conversation else { continue };
            match report {
                Report::Input(input) => {
                    let mut inputs = vec![input];
                    while let Some(Notice { report: Report::Input(input), .. }) =
                        notices.next_if(|next| next.conversation == id && matches!(next.report, Report::Input(_)))
                    {
                        inputs.push(input);
                    }
                    conversation.feed(self, inputs);
                }
                Report::Progress { call, text } => {
                    if conversation.tasks.is_running(&call) {
                        self.host.progress(conversation.buffer, &call.0, &text);
                    }
                }
            }
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
