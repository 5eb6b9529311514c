//! The application as it begins, and as its options change.

use std::{
    cell::{Cell, OnceCell},
    path::Path,
    rc::Rc,
};

use serde_json::json;

use crate::{
    Conversation, Workspace,
    approval::chain,
    background::Background,
    options::layers::{self, OptionLayers},
    ports::{Host, Scripts},
    projects::Projects as ProjectFolders,
    shared::{Conversations, Shared},
    tools::toolbox::Toolbox,
};
use flemma_config::Config;
use flemma_model::UserError;
use flemma_runtime::Outputs;
use flemma_tools::approval::Resolve;

/// The agent that permits nothing, while the options that name another one cannot be read.
const UNREAD_AGENT: &str = "(unknown: the options of `setup` have a mistake)";

impl Workspace {
    /// A workspace with the default options and tools, and no conversation.
    ///
    /// `state_dir` is the folder for what is kept between sessions; it need not be there. `wake` is called from any thread
    /// when [`Workspace::drain`] is due.
    pub fn new(
        host: Rc<dyn Host>,
        scripts: Rc<dyn Scripts>,
        state_dir: &Path,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Rc<Self> {
        let background = Background::new(wake);
        let shared = Rc::new(Shared {
            host,
            scripts,
            worker: Rc::clone(&background.worker),
            options: OptionLayers::default(),
            toolbox: Toolbox::with_builtins(),
            projects: ProjectFolders::new(state_dir.join("conversations")),
            conversations: Conversations::default(),
            outputs: Outputs::new(state_dir.join("outputs")),
            leaving: Cell::default(),
            is_answering: Cell::new(false),
            events: OnceCell::new(),
        });
        let workspace = Rc::new(Self::build(shared, background, state_dir));
        let acts = Rc::downgrade(&workspace);
        let _ = workspace.shared.events.set(Box::new(move |event| {
            if let Some(workspace) = acts.upgrade() {
                workspace.act(event);
            }
        }));
        let config = workspace.shared.config();
        let built = chain::build(&config, None, &workspace.shared.scripts, &workspace.shared.host);
        workspace.shared.toolbox.configure(&config, built);
        workspace
    }

    /// The conversation of a buffer.
    pub fn conversation(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.shared.conversation(buffer)
    }

    /// Takes new options, and forgets what was set since the last ones. What runs goes on with the options that it began
    /// with. `log_dir` is where the log is unless the options say otherwise; `policy` is `tools.auto_approve` where that is
    /// a function.
    ///
    /// # Errors
    /// Every option that is wrong, in words for the user; then the previous options remain in effect.
    pub fn configure(
        &self,
        wanted: &serde_json::Value,
        policy: Option<Resolve>,
        log_dir: &Path,
    ) -> Result<(), Vec<UserError>> {
        let options = &self.shared.options;
        let is_first = options.fault.borrow().is_some() || layers::is_empty(&options.layers()[0]);
        let taken = self.take_options(wanted, policy, log_dir);
        let fault = taken.as_ref().err().and_then(|problems| problems.first().cloned());
        if taken.is_ok() || is_first {
            options.fault.replace(fault);
        }
        if taken.is_err() && is_first {
            // It is not known which policy it was to be: until there is one, nothing runs by itself.
            let mut options = json!({ "tools": { "auto_approve": [] } });
            if wanted.get("agent").is_some_and(|agent| !agent.is_null()) {
                options["agent"] = UNREAD_AGENT.into();
                options["agents"] = json!({ UNREAD_AGENT: { "allowed_read_paths": [], "allowed_write_paths": [] } });
            }
            let _ = self.take_options(&options, None, log_dir);
        }
        taken
    }

    fn take_options(
        &self,
        options: &serde_json::Value,
        policy: Option<Resolve>,
        log_dir: &Path,
    ) -> Result<(), Vec<UserError>> {
        let config = Config::from_layers(std::slice::from_ref(options)).map_err(|error| {
            error.problems.iter().map(|problem| UserError::new(problem.to_string())).collect::<Vec<_>>()
        })?;
        // A denial that cannot be read would deny nothing.
        let mut problems = chain::problems(&config);
        problems.extend(config.agent.as_ref().and_then(|agent| config.unknown_agent(agent)));
        if !problems.is_empty() {
            return Err(problems);
        }
        let is_policy_function = policy.is_some();
        let built = chain::build(&config, policy, &self.shared.scripts, &self.shared.host);
        self.shared.toolbox.configure(&config, built);
        self.shared.options.set_up(options.clone(), Rc::new(config), is_policy_function, log_dir);
        Ok(())
    }
}
