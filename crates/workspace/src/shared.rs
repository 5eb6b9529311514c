//! What all components share: the ports, the registers that each of them may read, and the way to tell the loop what happened.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
    sync::mpsc,
    time::Duration,
};

use crate::{
    Conversation,
    calls::rest::Known,
    event::LoopEvent,
    generation::Generation,
    options::layers::OptionLayers,
    ports::{Host, Place, Scripts},
    projects::Projects,
    resolutions::Resolution,
    tools::toolbox::Toolbox,
};
use flemma_agent::{Input, Level};
use flemma_config::{Config, LevelFilter};
use flemma_journal::Role;
use flemma_model::{CallId, UserError};
use flemma_runtime::{ConversationId, Outputs, Worker};
use flemma_tools::LuaRef;

/// How long a function waits for the disk that gives back what it finds.
const MOMENT: Duration = Duration::from_millis(400);

/// How far the exit of the editor is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It does not exit.
    #[default]
    No,
    /// What runs is being stopped, and turns are ended in their documents.
    Stops,
    /// There is no next turn.
    HasStopped,
}

/// The conversations, by buffer.
#[derive(Default)]
pub(crate) struct Conversations {
    pub(crate) by_buffer: RefCell<BTreeMap<i32, Rc<Conversation>>>,
    pub(crate) ids: Generation,
}

impl Conversations {
    /// The conversation with this id.
    pub(crate) fn by_id(&self, id: ConversationId) -> Option<Rc<Conversation>> {
        self.by_buffer.borrow().values().find(|conversation| conversation.id == id).map(Rc::clone)
    }

    /// All conversations.
    pub(crate) fn all(&self) -> Vec<Rc<Conversation>> {
        self.by_buffer.borrow().values().map(Rc::clone).collect()
    }
}

/// Takes what the components tell the loop.
type EventLoop = Box<dyn Fn(LoopEvent<'_>)>;

/// What all components share.
pub struct Shared {
    pub(crate) host: Rc<dyn Host>,
    /// What runs Lua.
    pub scripts: Rc<dyn Scripts>,
    pub(crate) worker: Rc<Worker>,
    pub(crate) options: OptionLayers,
    /// The tools.
    pub toolbox: Toolbox,
    pub(crate) projects: Projects,
    pub(crate) conversations: Conversations,
    /// Where the whole of a truncated output is kept for a few days.
    pub(crate) outputs: Outputs,
    /// Whether the editor is about to exit, so that nothing new starts.
    pub(crate) leaving: Cell<Leaving>,
    /// Whether a caller that resolves a call is to be answered before anything else follows from it.
    pub(crate) is_answering: Cell<bool>,
    /// The loop.
    pub(crate) events: OnceCell<EventLoop>,
}

impl Shared {
    /// Tells the loop what has happened, and what should happen.
    pub(crate) fn tell(&self, event: LoopEvent<'_>) {
        if let Some(events) = self.events.get() {
            events(event);
        }
    }

    /// Hands inputs to the session of a conversation.
    pub(crate) fn feed(&self, conversation: &Conversation, inputs: impl IntoIterator<Item = Input>) {
        self.tell(LoopEvent::Input(conversation, inputs.into_iter().collect()));
    }

    /// Resolves a call. Nobody hears how that ended.
    pub(crate) fn resolve(&self, conversation: &Conversation, call: &CallId, resolution: Resolution, role: Role) {
        self.tell(LoopEvent::Resolve(conversation, call, resolution, role, Box::new(|_, _| {})));
    }

    /// Does something with a conversation, unless it was closed.
    pub(crate) fn with_conversation(&self, id: ConversationId, work: impl FnOnce(&Conversation)) {
        if let Some(conversation) = self.conversations.by_id(id) {
            work(&conversation);
        }
    }

    /// Whether a conversation does not go on here, because the editor exits or its drive was stopped. What was decided stays so for
    /// whoever opens it next.
    pub(crate) fn is_ending(&self, conversation: &Conversation) -> bool {
        self.is_leaving() || conversation.drive.is_stopping()
    }

    /// Whether the user of a conversation has keys and commands, which messages may name.
    pub(crate) fn has_editor(&self, conversation: &Conversation) -> bool {
        self.host.carries_on() && !conversation.drive.is_known()
    }

    /// The root of the project to which a conversation belongs, by its absolute path; `None` if it is not among those of a
    /// project. A conversation in the state directory stays that of its project, also when the option names a folder now.
    pub fn project_of(&self, file: &Path) -> Option<PathBuf> {
        self.projects.root_of(file, self.config().conversations.folder.as_deref())
    }

    /// Does something that looks at the disk, and waits for it for a moment: the one way to do so, for functions that Lua calls and that
    /// give back what they find. No decision of ours is made in this way. `place` is what is named if the moment is too short.
    ///
    /// # Errors
    /// When the disk takes longer. The work is then done all the same, and nobody hears of it.
    pub(crate) fn wait_for_disk<R: Send + 'static>(
        &self,
        place: &Path,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, UserError> {
        let (tell, told) = mpsc::channel();
        let started = self.worker.spawn_blocking(move || {
            let _ = tell.send(work());
        });
        started.map_err(|_| UserError::new("no thread could be started; try again later"))?;
        told.recv_timeout(MOMENT).map_err(|_| {
            let words = format!("the file system of {} does not answer.", place.display());
            UserError::new(words).with_advice("Try again when it does.")
        })
    }

    /// Tells the user something about a conversation.
    pub(crate) fn notify(&self, conversation: &Conversation, level: Level, message: &str) {
        if level != Level::Info && conversation.ending.get().is_none() {
            conversation.ending.set(Some(Known::Told));
        }
        self.host.notify(level, &self.with_name(conversation, message));
    }

    /// A message about a conversation, which names it where the user does not see it.
    pub(crate) fn with_name(&self, conversation: &Conversation, message: &str) -> String {
        if !self.has_editor(conversation) || self.host.is_in_sight(conversation.buffer) {
            return message.to_owned();
        }
        format!("{}: {message}", self.name(conversation))
    }

    /// The name of a conversation, for messages.
    pub(crate) fn name(&self, conversation: &Conversation) -> String {
        let file = self.place(conversation).file;
        Path::new(&file).file_name().map_or_else(|| "[No Name]".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Warns the user about a function of a definition, once for each function.
    pub(crate) fn warn_once(&self, function: LuaRef, message: &str) {
        if self.toolbox.faulty.borrow_mut().insert(function) {
            self.warn(message);
        }
    }

    /// Tells the user, once, of names in `auto_approve` and in presets that are no tools, as far as all sources have loaded.
    pub(crate) fn check_names(&self, is_sending: bool) {
        if self.toolbox.is_ready() {
            for problem in self.toolbox.check_names(&self.config(), is_sending) {
                self.host.notify(Level::Warn, &problem.to_string());
            }
        }
    }

    /// Whether the editor is about to exit.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.get() != Leaving::No
    }

    /// Where a conversation is.
    pub(crate) fn place(&self, conversation: &Conversation) -> Place {
        self.place_of(conversation.buffer)
    }

    /// Where the conversation of a buffer is. The conversation of a project works on the project, wherever its file is.
    pub(crate) fn place_of(&self, buffer: i32) -> Place {
        let place = self.host.place(buffer);
        match self.project_of(Path::new(&place.file)) {
            Some(project) => Place { cwd: project.clone(), project: Some(project), ..place },
            None => place,
        }
    }

    /// Writes to the log, where there is one.
    pub fn log(&self, level: Level, line: &str) {
        let level = match level {
            Level::Info => LevelFilter::Info,
            Level::Warn => LevelFilter::Warn,
            Level::Error => LevelFilter::Error,
        };
        self.log_line(level, line);
    }

    /// Writes to the log what somebody else's code has to say.
    pub fn log_line(&self, level: LevelFilter, line: &str) {
        self.options.log.borrow().line(level, line);
    }

    /// Warns the user, and writes that to the log.
    pub(crate) fn warn(&self, message: &str) {
        self.log(Level::Warn, message);
        self.host.notify(Level::Warn, message);
    }

    /// The options that are in effect, without those of files.
    pub fn config(&self) -> Rc<Config> {
        self.options.effective()
    }

    /// The log's file.
    pub fn log_path(&self) -> PathBuf {
        self.options.log_path()
    }

    /// The conversation of a buffer.
    pub fn conversation(&self, buffer: i32) -> Option<Rc<Conversation>> {
        self.conversations.by_buffer.borrow().get(&buffer).map(Rc::clone)
    }
}
