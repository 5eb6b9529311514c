//! Everything that lives as long as the editor does, and who owns it.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use serde_json::json;

use super::{
    Conversation,
    accounts::Accounting,
    approval_chain,
    background::{self, Background},
    commits::Commits,
    file_on_disk::Flights,
    holder::Locks,
    known_messages::KnownMessages,
    lookups::Lookups,
    option_layers::OptionLayers,
    patience::Patience,
    ports::{Host, Place, Scripts},
    projects::Projects,
    reviewers::Reviewers,
    toolbox::Toolbox,
    trust_store::TrustStore,
    unsettled::Unsettled,
};
use flemma_agent::Level;
use flemma_config::{Config, LevelFilter};
use flemma_model::{Digest, UserError};
use flemma_runtime::{ConversationId, Folders, Journal, MessageNotes, OutboxFiles, Outputs, backups::Backups};
use flemma_tools::approval::Resolve;

/// The agent that permits nothing, while the options that name another one cannot be read.
const UNREAD_AGENT: &str = "(unknown: the options of `setup` have a mistake)";

/// What the main thread does with the result of background work.
pub type Job = background::Continuation<Workspace>;

/// How far the exit of the editor is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It does not exit.
    #[default]
    No,
    /// What runs is being stopped, and turns are ended in their documents.
    Stops,
    /// There is no next turn.
    HasStopped,
}

/// The application. It lives on the main thread, behind cells that are borrowed for one statement at a time: Lua that it
/// calls may call it back.
pub struct Workspace {
    host: Rc<dyn Host>,
    scripts: Rc<dyn Scripts>,
    background: Background<Self>,
    options: OptionLayers,
    toolbox: Toolbox,
    trust_store: TrustStore,
    conversations: Conversations,
    accounting: Accounting,
    flights: Flights,
    locks: Locks,
    journal: Journal,
    outboxes: OutboxFiles,
    backups: Backups,
    /// What distinguishes this process from all others, for conversations without a file.
    session: String,
    commits: Commits<Workspace>,
    /// The folders that completion lists.
    folders: Folders,
    lookups: Lookups,
    patience: Patience,
    /// What users have edited in reviews and is on its way to the disk.
    unsaved_edits: RefCell<HashMap<Digest, Arc<Vec<u8>>>>,
    reviewers: Reviewers<Workspace>,
    projects: Projects,
    known_messages: KnownMessages,
    /// Whether the editor is about to exit, so that nothing new starts.
    leaving: Cell<Leaving>,
    /// Whether a caller that resolves a call is to be answered before anything else follows from it.
    is_answering: Cell<bool>,
    unsettled: Unsettled<Workspace>,
    /// Where the whole of a truncated output is kept for a few days.
    outputs: Outputs,
}

/// The conversations, by buffer.
#[derive(Default)]
pub(super) struct Conversations {
    by_buffer: RefCell<BTreeMap<i32, Rc<Conversation>>>,
    last_id: Cell<u64>,
}

impl Conversations {
    /// The conversation with this id.
    pub(super) fn by_id(&self, id: ConversationId) -> Option<Rc<Conversation>> {
        self.by_buffer.borrow().values().find(|conversation| conversation.id() == id).map(Rc::clone)
    }

    /// All conversations.
    pub(super) fn all(&self) -> Vec<Rc<Conversation>> {
        self.by_buffer.borrow().values().map(Rc::clone).collect()
    }

    /// The conversation of this buffer.
    fn get(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.by_buffer.borrow().get(&buffer).map(Rc::clone)
    }

    pub(super) fn insert(&self, conversation: Rc<Conversation>) {
        self.by_buffer.borrow_mut().insert(conversation.buffer(), conversation);
    }

    pub(super) fn remove(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.by_buffer.borrow_mut().remove(&buffer)
    }

    pub(super) fn take_all(&self) -> impl Iterator<Item = Rc<Conversation>> {
        self.by_buffer.take().into_values()
    }

    /// The id for the next conversation; says whether it is the first one.
    pub(super) fn next_id(&self) -> (ConversationId, bool) {
        let last = self.last_id.get();
        self.last_id.set(last + 1);
        (ConversationId(last + 1), last == 0)
    }
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
    ) -> Self {
        let workspace = Self {
            host,
            scripts,
            background: Background::new(wake),
            options: OptionLayers::default(),
            toolbox: Toolbox::default(),
            trust_store: TrustStore::new(state_dir.join("trust.jsonl")),
            conversations: Conversations::default(),
            accounting: Accounting::default(),
            flights: Flights::default(),
            locks: Locks::new(state_dir.join("locks")),
            journal: Journal::new(state_dir.join("journal")),
            outboxes: OutboxFiles::new(state_dir.join("outbox")),
            backups: Backups::new(state_dir.join("changes"), state_dir.join("locks")),
            session: format!("{}-{:016x}", std::process::id(), fastrand::u64(..)),
            commits: Commits::default(),
            folders: Folders::default(),
            lookups: Lookups::default(),
            patience: Patience::default(),
            unsaved_edits: RefCell::default(),
            reviewers: Reviewers::default(),
            projects: Projects::new(state_dir.join("conversations")),
            known_messages: KnownMessages::new(MessageNotes::new(state_dir.join("messages.jsonl"))),
            leaving: Cell::default(),
            is_answering: Cell::new(false),
            unsettled: Unsettled::default(),
            outputs: Outputs::new(state_dir.join("outputs")),
        };
        let config = workspace.config();
        let built = approval_chain::build(&config, None, &workspace.scripts, &workspace.host);
        workspace.toolbox.configure(&config, built);
        workspace
    }

    pub(super) fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// The host, for closures that outlive this call.
    pub(super) fn host_handle(&self) -> &Rc<dyn Host> {
        &self.host
    }

    pub(super) fn scripts(&self) -> &dyn Scripts {
        &*self.scripts
    }

    pub(super) fn background(&self) -> &Background<Self> {
        &self.background
    }

    pub(super) fn options(&self) -> &OptionLayers {
        &self.options
    }

    pub(super) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub(super) fn trust_store(&self) -> &TrustStore {
        &self.trust_store
    }

    pub(super) fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    pub(super) fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    pub(super) fn flights(&self) -> &Flights {
        &self.flights
    }

    /// Does something whose consequences follow when the caller is answered.
    pub(super) fn answering(&self, work: impl FnOnce()) {
        let before = self.is_answering.replace(true);
        work();
        self.is_answering.set(before);
    }

    pub(super) fn unsettled(&self) -> &Unsettled<Self> {
        &self.unsettled
    }

    pub(super) fn is_answering(&self) -> bool {
        self.is_answering.get()
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn outboxes(&self) -> &OutboxFiles {
        &self.outboxes
    }

    pub(super) fn backups(&self) -> &Backups {
        &self.backups
    }

    pub(super) fn session_name(&self) -> &str {
        &self.session
    }

    pub(super) fn commits(&self) -> &Commits<Self> {
        &self.commits
    }

    pub(super) fn folders(&self) -> &Folders {
        &self.folders
    }

    pub(super) fn unsaved_edits(&self) -> &RefCell<HashMap<Digest, Arc<Vec<u8>>>> {
        &self.unsaved_edits
    }

    pub(super) fn patience(&self) -> &Patience {
        &self.patience
    }

    pub(super) fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    pub(super) fn projects(&self) -> &Projects {
        &self.projects
    }

    pub(super) fn known_messages(&self) -> &KnownMessages {
        &self.known_messages
    }

    pub(super) fn reviewers(&self) -> &Reviewers<Self> {
        &self.reviewers
    }

    /// Whether the editor is about to exit.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.get() != Leaving::No
    }

    /// How far the exit of the editor is.
    pub(super) const fn leaving(&self) -> &Cell<Leaving> {
        &self.leaving
    }

    pub(super) fn locks(&self) -> &Locks {
        &self.locks
    }

    pub(super) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Where a conversation is.
    pub(super) fn place(&self, conversation: &Conversation) -> Place {
        self.place_of(conversation.buffer())
    }

    /// Where the conversation of a buffer is. The conversation of a project works on the project, wherever its file is.
    pub(super) fn place_of(&self, buffer: i32) -> Place {
        let place = self.host.place(buffer);
        match self.project_of(Path::new(&place.file)) {
            Some(project) => Place { cwd: project.clone(), project: Some(project), ..place },
            None => place,
        }
    }

    /// Writes to the log, where there is one.
    pub fn log(&self, level: Level, line: &str) {
        self.options.log(level, line);
    }

    /// Writes to the log what somebody else's code has to say.
    pub fn log_line(&self, level: LevelFilter, line: &str) {
        self.options.log_line(level, line);
    }

    /// Warns the user, and writes that to the log.
    pub(super) fn warn(&self, message: &str) {
        self.log(Level::Warn, message);
        self.host.notify(Level::Warn, message);
    }

    /// The options that are in effect, without those of files.
    #[must_use]
    pub fn config(&self) -> Rc<Config> {
        self.options.effective()
    }

    /// The log's file.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.options.log_path()
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
        if taken.is_err() && !self.options.is_set_up() {
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
        let built = approval_chain::build(&config, policy, &self.scripts, &self.host);
        self.toolbox.configure(&config, built);
        self.options.set_up(options.clone(), Rc::new(config), is_policy_function, log_dir);
        Ok(())
    }

    /// Files' frontmatter may mean something else now.
    pub fn forget_frontmatter(&self) {
        self.toolbox.touch();
    }

    /// The conversation of a buffer.
    #[must_use]
    pub fn conversation(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.conversations.get(buffer)
    }
}
