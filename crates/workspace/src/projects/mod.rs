//! The conversations of a project: their folder, the one that was used last, and new ones.

pub(crate) mod folders;

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::{background::Background, projects::folders::plain_names, shared::Shared};
use flemma_agent::Level;
use flemma_chat::file_name;
use flemma_model::UserError;
use flemma_runtime::conversation_folder;
use flemma_tools::paths::real;

/// The mode of folders for conversations in the state directory, and of those below a project's root.
const MODES: (u32, u32) = (0o700, 0o777);

/// How many conversations of one name and date there may be.
const MOST_NAMESAKES: usize = 1000;

/// The conversations of projects: where they are, and which was used last.
pub struct ProjectConversations {
    /// What all components share.
    pub shared: Rc<Shared>,
    pub(crate) background: Background<Self>,
}

impl ProjectConversations {
    /// The folder that has the conversations of the project at `root`. It need not be there.
    #[must_use]
    pub fn conversation_folder(&self, root: &Path) -> PathBuf {
        match &self.shared.config().conversations.folder {
            Some(below) => root.join(plain_names(below)),
            None => self.shared.projects.own_folder(root),
        }
    }

    /// The root of the project of a file, or of a folder: the nearest folder with one of the markers (`conversations.markers`), or
    /// else `cwd`. Both are absolute. Links are resolved.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn project_root(&self, start: &Path, cwd: &Path) -> Result<PathBuf, UserError> {
        self.shared.promptly(start, self.find_root(start, cwd))
    }

    /// Finds the root of a project.
    pub(crate) fn find_root(&self, start: &Path, cwd: &Path) -> impl FnOnce() -> PathBuf + Send + 'static {
        let (start, cwd) = (start.to_owned(), cwd.to_owned());
        let markers = self.shared.config().conversations.markers.clone();
        move || conversation_folder::project_root(&start, &markers).unwrap_or_else(|| real(&cwd))
    }

    /// The conversation of a project that was used last, in this editor or else in another one; `None` if there is none.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn last_used_conversation(&self, root: &Path) -> Result<Option<PathBuf>, UserError> {
        let (here, note) = (self.shared.projects.last_used(root), self.shared.projects.note_of(root));
        if let Some(here) = here.as_ref().filter(|here| self.shared.host.open_conversations().contains(here)) {
            return Ok(Some(here.clone()));
        }
        let place = self.shared.projects.own_folder(root);
        self.shared.promptly(&place, move || {
            here.filter(|file| file.is_file()).or_else(|| conversation_folder::last_used(&note))
        })
    }

    /// The user looks at a conversation, or it was written: it is the one of its project that was used last. `is_entered` is
    /// false for a write, which may be that of a conversation out of sight.
    pub fn conversation_used(&self, file: &Path, is_entered: bool) {
        let Some(root) = self.shared.project_of(file) else { return };
        let is_news = if is_entered {
            self.shared.projects.note(root.clone(), file)
        } else {
            self.shared.projects.last_used(&root).as_deref() == Some(file)
        };
        if !is_news {
            return;
        }
        let (note, file) = (self.shared.projects.note_of(&root), file.to_owned());
        let then = |this: &Self, noted: std::io::Result<()>| {
            if let Err(error) = noted {
                let words = format!("the conversation that was used last could not be noted: {error}");
                this.shared.log(Level::Warn, &words);
            }
        };
        if let Err(error) = self.background.run(move || conversation_folder::note_last_used(&note, &file), then) {
            then(self, Err(error));
        }
    }

    /// The path for a new conversation of the project at `root`, in a folder that is made if it is not there. The file is not
    /// made. Its name has the user's date, and the time if it has no title.
    ///
    /// # Errors
    /// When the folder cannot be made or not be written to, or the disk does not answer in time.
    pub fn new_conversation(&self, root: &Path, title: &str) -> Result<PathBuf, UserError> {
        let folder = self.conversation_folder(root);
        let mode = if self.shared.config().conversations.folder.is_some() { MODES.1 } else { MODES.0 };
        let open = self.shared.host.open_conversations();
        let now = self.shared.host.local_time(self.shared.host.now()).replace(':', "");
        let mut words = now.split(' ').map(str::to_owned);
        let (date, time) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let title = title.to_owned();
        let place = folder.clone();
        self.shared.promptly(&place, move || {
            conversation_folder::prepare(&folder, mode).map_err(|error| {
                let words = format!("the folder for conversations, {}, cannot be written: {error}.", folder.display());
                UserError::new(words).with_advice("`conversations.folder` in `setup` chooses another one.")
            })?;
            let names = (1..=MOST_NAMESAKES).map(|number| folder.join(file_name(&title, &date, &time, number)));
            let mut free = names.filter(|path| !open.contains(path) && !conversation_folder::is_taken(path));
            let none = || UserError::new(format!("{} has too many conversations of this name", folder.display()));
            free.next().ok_or_else(none)
        })?
    }
}
