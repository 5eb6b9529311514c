//! The application: its components, and how they are put together.
//!
//! A component owns one kind of state. It may ask those that are built before it; what is to happen in others, it tells the loop
//! ([`LoopEvent`](super::event::LoopEvent)).

use std::{
    cell::{Cell, OnceCell, RefCell},
    path::Path,
    rc::Rc,
};

use serde_json::json;

use super::{
    Conversation,
    accounting::Accounting,
    admission::Gatekeeper,
    answers::Answers,
    approval_chain,
    background::Background,
    buffer_view::Previews,
    capturing::References,
    commands::Commands,
    commits::Commits,
    completion::Completions,
    deadlines::Deadlines,
    driving::Drives,
    file_on_disk::Flights,
    forms::Forms,
    frontmatter::Frontmatter,
    holder::Locks,
    holding::Ownership,
    journaling::Journaling,
    known_messages::KnownMessages,
    looks::Looks,
    lookups::Lookups,
    option_layers::OptionLayers,
    patience::Patience,
    permissions::Permissions,
    ports::{Host, Scripts},
    project_conversations::ProjectConversations,
    projects::Projects as ProjectFolders,
    proposing::Reviews,
    queueing::Queue,
    recovery::Recovery,
    resolution::Resolutions,
    reviewers::Reviewers,
    running::Execution,
    saving::Saving,
    shared::{Conversations, Shared},
    standing::Calls,
    starts::Starts,
    status_view::StatusReports,
    switch::Switches,
    taking_back::Undo,
    tool_context::ToolContexts,
    toolbox::Toolbox,
    tools::Tools,
    trust_store::TrustStore,
    unsettled::Unsettled,
    verdict::Approval,
    waiting_list::Lists,
    written::WrittenBlocks,
};
use flemma_config::Config;
use flemma_model::UserError;
use flemma_runtime::{Folders, Journal, MessageNotes, OutboxFiles, Outputs, backups::Backups};
use flemma_tools::approval::Resolve;

/// The agent that permits nothing, while the options that name another one cannot be read.
const UNREAD_AGENT: &str = "(unknown: the options of `setup` have a mistake)";

/// The application. It lives on the main thread. State is behind cells that are borrowed for one statement at a time: Lua that
/// is called may call back.
pub struct Workspace {
    /// What all components share.
    pub shared: Rc<Shared>,
    /// The trust store.
    pub trust: Rc<TrustStore>,
    /// The options of each conversation: those of `setup`, under what its frontmatter says and who started it asked for.
    pub frontmatter: Rc<Frontmatter>,
    /// What tools and references may read and write, and where they run.
    pub permissions: Rc<Permissions>,
    /// Which process each conversation belongs to.
    pub ownership: Rc<Ownership>,
    /// The records of calls: in memory, in the journal, and in which order they take effect.
    pub journaling: Rc<Journaling>,
    /// The changes of files that calls have made, and the way back.
    pub undo: Rc<Undo>,
    /// What a tool is told about where it runs.
    pub contexts: Rc<ToolContexts>,
    /// What the user's policies say of a call.
    pub approval: Rc<Approval>,
    /// The open calls: what each waits for, and what was decided.
    pub calls: Rc<Calls>,
    /// Starts that are recorded and have not happened yet.
    pub starts: Rc<Starts>,
    /// What the model is told of a call that a person or the clock has ended.
    pub answers: Rc<Answers>,
    /// What calls would write, and what users make of it.
    pub reviews: Rc<Reviews>,
    /// The tools that run.
    pub execution: Rc<Execution>,
    /// The messages that wait for their turn.
    pub queue: Rc<Queue>,
    /// What the references in a message mean when it is sent.
    pub references: Rc<References>,
    /// Decisions and answers: checked, recorded, and then carried out.
    pub resolutions: Rc<Resolutions>,
    /// Decisions and answers that the user has typed into blocks.
    pub written: Rc<WrittenBlocks>,
    /// The deadlines of calls that wait.
    pub deadlines: Rc<Deadlines>,
    /// What requests have used, and the notes about messages.
    pub usage: Rc<Accounting>,
    /// Conversations that are carried on without a user.
    pub drives: Rc<Drives>,
    /// The way of a wish to the session: trust first.
    pub admission: Rc<Gatekeeper>,
    /// A file that was opened, brought together with its journal.
    pub recovery: Rc<Recovery>,
    /// The files of conversations, as they are written.
    pub saving: Rc<Saving>,
    /// The conversations of projects: where they are, and which was used last.
    pub projects: Rc<ProjectConversations>,
    /// Commands that tools in Lua run.
    pub commands: Rc<Commands>,
    /// What completion offers.
    pub completions: Rc<Completions>,
    /// The forms of questions.
    pub forms: Rc<Forms>,
    /// The tools that are registered.
    pub tools: Rc<Tools>,
    /// The options that commands change while Neovim runs.
    pub switches: Rc<Switches>,
    /// What `:Flemma status`, the list of tools and the status line say.
    pub status: Rc<StatusReports>,
    /// How messages, calls and folds are drawn.
    pub looks: Rc<Looks>,
    /// What is shown at calls that wait.
    pub previews: Rc<Previews>,
    /// The lists of conversations and of calls that wait.
    pub lists: Rc<Lists>,
    pub(super) background: Background<Self>,
    pub(super) unsettled: Unsettled<Self>,
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
            toolbox: Toolbox::default(),
            projects: ProjectFolders::new(state_dir.join("conversations")),
            conversations: Conversations::default(),
            outputs: Outputs::new(state_dir.join("outputs")),
            patience: Patience::default(),
            leaving: Cell::default(),
            is_answering: Cell::new(false),
            events: OnceCell::new(),
        });
        let trust =
            Rc::new(TrustStore::new(Rc::clone(&shared), background.of(|it| &it.trust), state_dir.join("trust.jsonl")));
        let frontmatter = Rc::new(Frontmatter { shared: Rc::clone(&shared), trust: Rc::clone(&trust) });
        let permissions = Rc::new(Permissions {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.permissions),
            trust: Rc::clone(&trust),
            frontmatter: Rc::clone(&frontmatter),
            lookups: Lookups::default(),
        });
        let ownership = Rc::new(Ownership {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.ownership),
            locks: Locks::new(state_dir.join("locks")),
        });
        let journaling = Rc::new(Journaling {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.journaling),
            ownership: Rc::clone(&ownership),
            journal: Journal::new(state_dir.join("journal")),
            commits: Commits::default(),
        });
        let undo = Rc::new(Undo {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.undo),
            permissions: Rc::clone(&permissions),
            ownership: Rc::clone(&ownership),
            backups: Backups::new(state_dir.join("changes"), state_dir.join("locks")),
            session: format!("{}-{:016x}", std::process::id(), fastrand::u64(..)),
        });
        let contexts = Rc::new(ToolContexts {
            shared: Rc::clone(&shared),
            frontmatter: Rc::clone(&frontmatter),
            permissions: Rc::clone(&permissions),
            undo: Rc::clone(&undo),
            unsaved_edits: RefCell::default(),
        });
        let approval = Rc::new(Approval {
            shared: Rc::clone(&shared),
            frontmatter: Rc::clone(&frontmatter),
            permissions: Rc::clone(&permissions),
            contexts: Rc::clone(&contexts),
        });
        let calls = Rc::new(Calls {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.calls),
            frontmatter: Rc::clone(&frontmatter),
            approval: Rc::clone(&approval),
        });
        let starts = Rc::new(Starts { shared: Rc::clone(&shared), journaling: Rc::clone(&journaling) });
        let answers = Rc::new(Answers { shared: Rc::clone(&shared), undo: Rc::clone(&undo) });
        let reviews = Rc::new(Reviews {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.reviews),
            frontmatter: Rc::clone(&frontmatter),
            journaling: Rc::clone(&journaling),
            undo: Rc::clone(&undo),
            contexts: Rc::clone(&contexts),
            approval: Rc::clone(&approval),
            calls: Rc::clone(&calls),
            reviewers: Reviewers::default(),
        });
        let execution = Rc::new(Execution {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.execution),
            frontmatter: Rc::clone(&frontmatter),
            permissions: Rc::clone(&permissions),
            journaling: Rc::clone(&journaling),
            undo: Rc::clone(&undo),
            contexts: Rc::clone(&contexts),
            approval: Rc::clone(&approval),
            calls: Rc::clone(&calls),
            starts: Rc::clone(&starts),
            reviews: Rc::clone(&reviews),
        });
        let queue = Rc::new(Queue {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.queue),
            ownership: Rc::clone(&ownership),
            journaling: Rc::clone(&journaling),
            calls: Rc::clone(&calls),
            outboxes: OutboxFiles::new(state_dir.join("outbox")),
        });
        let references = Rc::new(References {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.references),
            permissions: Rc::clone(&permissions),
        });
        let resolutions = Rc::new(Resolutions {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.resolutions),
            frontmatter: Rc::clone(&frontmatter),
            ownership: Rc::clone(&ownership),
            journaling: Rc::clone(&journaling),
            undo: Rc::clone(&undo),
            approval: Rc::clone(&approval),
            calls: Rc::clone(&calls),
            starts: Rc::clone(&starts),
            answers: Rc::clone(&answers),
            execution: Rc::clone(&execution),
        });
        let written = Rc::new(WrittenBlocks {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.written),
            journaling: Rc::clone(&journaling),
            approval: Rc::clone(&approval),
            calls: Rc::clone(&calls),
            starts: Rc::clone(&starts),
            answers: Rc::clone(&answers),
            execution: Rc::clone(&execution),
            resolutions: Rc::clone(&resolutions),
        });
        let deadlines = Rc::new(Deadlines {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.deadlines),
            resolutions: Rc::clone(&resolutions),
        });
        let usage = Rc::new(Accounting {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.usage),
            frontmatter: Rc::clone(&frontmatter),
            permissions: Rc::clone(&permissions),
            ledger: RefCell::default(),
            known_messages: KnownMessages::new(MessageNotes::new(state_dir.join("messages.jsonl"))),
        });
        let drives = Rc::new(Drives {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.drives),
            ownership: Rc::clone(&ownership),
            calls: Rc::clone(&calls),
        });
        let admission = Rc::new(Gatekeeper {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.admission),
            trust: Rc::clone(&trust),
            frontmatter: Rc::clone(&frontmatter),
            ownership: Rc::clone(&ownership),
            approval: Rc::clone(&approval),
            calls: Rc::clone(&calls),
            resolutions: Rc::clone(&resolutions),
            written: Rc::clone(&written),
            deadlines: Rc::clone(&deadlines),
            drives: Rc::clone(&drives),
        });
        let recovery = Rc::new(Recovery {
            shared: Rc::clone(&shared),
            frontmatter: Rc::clone(&frontmatter),
            ownership: Rc::clone(&ownership),
            journaling: Rc::clone(&journaling),
            undo: Rc::clone(&undo),
            calls: Rc::clone(&calls),
            reviews: Rc::clone(&reviews),
            queue: Rc::clone(&queue),
            deadlines: Rc::clone(&deadlines),
            drives: Rc::clone(&drives),
        });
        let saving = Rc::new(Saving {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.saving),
            trust: Rc::clone(&trust),
            ownership: Rc::clone(&ownership),
            journaling: Rc::clone(&journaling),
            queue: Rc::clone(&queue),
            flights: Flights::default(),
        });
        let projects =
            Rc::new(ProjectConversations { shared: Rc::clone(&shared), background: background.of(|it| &it.projects) });
        let commands = Rc::new(Commands { shared: Rc::clone(&shared), background: background.of(|it| &it.commands) });
        let completions = Rc::new(Completions {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.completions),
            permissions: Rc::clone(&permissions),
            folders: Folders::default(),
        });
        let forms = Rc::new(Forms {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.forms),
            journaling: Rc::clone(&journaling),
            permissions: Rc::clone(&permissions),
        });
        let tools = Rc::new(Tools { shared: Rc::clone(&shared), background: background.of(|it| &it.tools) });
        let switches = Rc::new(Switches {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.switches),
            frontmatter: Rc::clone(&frontmatter),
        });
        let status = Rc::new(StatusReports {
            shared: Rc::clone(&shared),
            frontmatter: Rc::clone(&frontmatter),
            permissions: Rc::clone(&permissions),
            usage: Rc::clone(&usage),
        });
        let looks = Rc::new(Looks { shared: Rc::clone(&shared), usage: Rc::clone(&usage) });
        let previews = Rc::new(Previews { shared: Rc::clone(&shared), permissions: Rc::clone(&permissions) });
        let lists = Rc::new(Lists {
            shared: Rc::clone(&shared),
            background: background.of(|it| &it.lists),
            ownership: Rc::clone(&ownership),
            journaling: Rc::clone(&journaling),
            calls: Rc::clone(&calls),
            projects: Rc::clone(&projects),
        });
        let unsettled = Unsettled::default();
        let workspace = Rc::new(Self {
            shared,
            trust,
            frontmatter,
            permissions,
            ownership,
            journaling,
            undo,
            contexts,
            approval,
            calls,
            starts,
            answers,
            reviews,
            execution,
            queue,
            references,
            resolutions,
            written,
            deadlines,
            usage,
            drives,
            admission,
            recovery,
            saving,
            projects,
            commands,
            completions,
            forms,
            tools,
            switches,
            status,
            looks,
            previews,
            lists,
            background,
            unsettled,
        });
        let acts = Rc::downgrade(&workspace);
        let _ = workspace.shared.events.set(Box::new(move |event| {
            if let Some(workspace) = acts.upgrade() {
                workspace.act(event);
            }
        }));
        let config = workspace.shared.config();
        let built = approval_chain::build(&config, None, &workspace.shared.scripts, &workspace.shared.host);
        workspace.shared.toolbox.configure(&config, built);
        workspace
    }

    /// The conversation of a buffer.
    #[must_use]
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
        let mut problems = approval_chain::problems(&config);
        problems.extend(config.agent.as_ref().and_then(|agent| config.unknown_agent(agent)));
        if !problems.is_empty() {
            return Err(problems);
        }
        let is_policy_function = policy.is_some();
        let built = approval_chain::build(&config, policy, &self.shared.scripts, &self.shared.host);
        self.shared.toolbox.configure(&config, built);
        self.shared.options.set_up(options.clone(), Rc::new(config), is_policy_function, log_dir);
        Ok(())
    }

    /// Files' frontmatter may mean something else now.
    pub fn forget_frontmatter(&self) {
        self.shared.toolbox.touch();
    }
}
