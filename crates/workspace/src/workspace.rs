//! The application: its components, and how they are put together.
//!
//! A component owns one kind of state. It may ask those that are built before it; what is to happen in others, it tells the loop
//! ([`LoopEvent`](crate::event::LoopEvent)).

use std::{
    cell::{Cell, OnceCell, RefCell},
    path::Path,
    rc::Rc,
    sync::mpsc,
};

use serde_json::json;

use crate::{
    Conversation,
    approval::{Approval, chain, lookups::Lookups, permissions::Permissions},
    background::Background,
    calls::{OpenCalls, forms::Forms},
    completion::Completions,
    drives::Drives,
    event_loop::Unsettled,
    execution::{Execution, context::ToolContexts},
    journaling::{Journaling, recovery::Recovery},
    lists::Lists,
    options::{Frontmatter, layers::OptionLayers, switch::Switches},
    ownership::{Ownership, holder::Locks},
    ports::{Host, Scripts},
    projects::{ProjectConversations, Projects as ProjectFolders},
    queue::Queue,
    references::References,
    resolutions::{Resolutions, answers::Answers},
    reviews::Reviews,
    saving::Saving,
    shared::{Conversations, Shared},
    tools::{Tools, toolbox::Toolbox},
    trust::{gatekeeper::Gatekeeper, store::TrustStore},
    undo::Undo,
    usage::{Accounting, known_messages::KnownMessages},
    views::Views,
};
use flemma_config::Config;
use flemma_model::UserError;
use flemma_runtime::{Folders, Journal, MessageNotes, OutboxFiles, Outputs, backups::Backups};
use flemma_tools::approval::Resolve;

/// The agent that permits nothing, while the options that name another one cannot be read.
const UNREAD_AGENT: &str = "(unknown: the options of `setup` have a mistake)";

/// Declares the application: its components in their order, each with those that it asks, and what it owns. `of background`: it
/// has work done away from the main thread.
macro_rules! components {
    ($(#[$about:meta])* $workspace:ident($shared:ident, $background:ident, $state_dir:ident); $(
        $(#[$doc:meta])*
        $name:ident: $type:ident $(of $from:ident)?, asks [$($asked:ident),*] $(, owns { $($state:ident: $value:expr),* })?;
    )*) => {
        $(#[$about])*
        pub struct $workspace {
            /// What all components share.
            pub shared: Rc<Shared>,
            $($(#[$doc])* pub $name: Rc<$type>,)*
            pub(crate) background: Background<Self>,
            pub(crate) unsettled: RefCell<Vec<Unsettled<Self>>>,
        }

        impl $workspace {
            fn build($shared: Rc<Shared>, $background: Background<Self>, $state_dir: &Path) -> Self {
                $(let $name = Rc::new($type {
                    shared: Rc::clone(&$shared),
                    $(background: $from.of(|workspace: &Self| &*workspace.$name),)?
                    $($asked: Rc::clone(&$asked),)*
                    $($($state: $value,)*)?
                });)*
                Self { $shared, $($name,)* $background, unsettled: RefCell::default() }
            }
        }
    };
}

components! {
    /// The application. It lives on the main thread. State is behind cells that are borrowed for one statement at a time: Lua that
    /// is called may call back.
    Workspace(shared, background, state_dir);

    /// What users trust: code in frontmatter, and files that may be shown.
    trust: TrustStore of background, asks [], owns {
        path: state_dir.join("trust.jsonl"),
        trusted: RefCell::default(),
        is_reading: Cell::default(),
        is_told: Cell::default()
    };
    /// The options of each conversation: those of `setup`, under what its frontmatter says and who started it asked for.
    frontmatter: Frontmatter, asks [trust];
    /// What tools and references may read and write, and where they run.
    permissions: Permissions, asks [trust, frontmatter];
    /// Which process each conversation belongs to.
    ownership: Ownership of background, asks [], owns { locks: Locks::new(state_dir.join("locks")) };
    /// The records of calls: in memory, in the journal, and in which order they take effect.
    journaling: Journaling of background, asks [ownership], owns {
        journal: Journal::new(state_dir.join("journal")),
        commits: mpsc::channel()
    };
    /// The changes of files that calls have made, and the way back.
    undo: Undo of background, asks [permissions, ownership], owns {
        backups: Backups::new(state_dir.join("changes"), state_dir.join("locks")),
        session: format!("{}-{:016x}", std::process::id(), fastrand::u64(..))
    };
    /// What a tool is told about where it runs.
    contexts: ToolContexts, asks [frontmatter, permissions, undo], owns { unsaved_edits: RefCell::default() };
    /// What the user's policies say of a call.
    approval: Approval of background, asks [frontmatter, permissions, contexts], owns { lookups: Lookups::default() };
    /// The open calls: what each waits for, and what was decided.
    calls: OpenCalls of background, asks [frontmatter];
    /// What the model is told of a call that a person or the clock has ended.
    answers: Answers, asks [undo];
    /// What calls would write, and what users make of it.
    reviews: Reviews of background, asks [frontmatter, journaling, undo, contexts, approval, calls], owns {
        reviewers: RefCell::default()
    };
    /// The tools that run.
    execution: Execution of background, asks [frontmatter, permissions, journaling, undo, contexts, approval, calls, reviews];
    /// The messages that wait for their turn.
    queue: Queue of background, asks [ownership, journaling, calls], owns {
        outboxes: OutboxFiles::new(state_dir.join("outbox"))
    };
    /// What the references in a message mean when it is sent.
    references: References of background, asks [permissions, ownership];
    /// Decisions and answers: checked, recorded, and then carried out.
    resolutions: Resolutions of background, asks [frontmatter, ownership, journaling, undo, approval, calls, answers, execution];
    /// What requests have used, and the notes about messages.
    usage: Accounting of background, asks [frontmatter, permissions], owns {
        ledger: RefCell::default(),
        known_messages: KnownMessages::default(),
        notes: MessageNotes::new(state_dir.join("messages.jsonl"))
    };
    /// Conversations that are carried on without a user.
    drives: Drives of background, asks [ownership, calls];
    /// The way of a wish to the session: trust first.
    admission: Gatekeeper of background, asks [trust, frontmatter, ownership, approval, calls, resolutions, drives];
    /// A file that was opened, brought together with its journal.
    recovery: Recovery, asks [frontmatter, ownership, journaling, undo, calls, reviews, queue, resolutions, drives];
    /// The files of conversations, as they are written.
    saving: Saving of background, asks [trust, ownership, journaling, queue], owns { flights: RefCell::default() };
    /// The conversations of projects: where they are, and which was used last.
    projects: ProjectConversations of background, asks [];
    /// What completion offers.
    completions: Completions of background, asks [permissions], owns { folders: Folders::default() };
    /// The forms of questions.
    forms: Forms of background, asks [journaling, permissions];
    /// The tools that are registered.
    tools: Tools of background, asks [];
    /// The options that commands change while Neovim runs.
    switches: Switches of background, asks [frontmatter];
    /// What is drawn and said of conversations.
    views: Views, asks [frontmatter, permissions, usage];
    /// The lists of conversations and of calls that wait.
    lists: Lists of background, asks [ownership, journaling, calls, projects];
}

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
            worker: background.worker_handle(),
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
        let taken = self.take_options(wanted, policy, log_dir);
        if taken.is_err() && !self.shared.options.is_set_up() {
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
