//! The conversations of a project: their folder, the one that was used last, and new ones.

use std::path::{Path, PathBuf};

use super::{Workspace, projects::plain_names};
use crate::{agent::Level, chat::file_name, model::UserError, runtime::conversation_folder};

/// The mode of folders for conversations in the state directory, and of those below a project's root.
const MODES: (u32, u32) = (0o700, 0o777);

/// How many conversations of one name and date there may be.
const MOST_NAMESAKES: usize = 1000;

impl Workspace {
    /// The folder that has the conversations of the project at `root`. It need not be there.
    #[must_use]
    pub fn conversation_folder(&self, root: &Path) -> PathBuf {
        match &self.config().conversations.folder {
            Some(below) => root.join(plain_names(below)),
            None => self.projects().own_folder(root),
        }
    }

    /// The root of the project to which a conversation belongs, by its absolute path; `None` if it is not among those of a
    /// project. A conversation in the state directory stays that of its project, also when the option names a folder now.
    #[must_use]
    pub fn project_of(&self, file: &Path) -> Option<PathBuf> {
        self.projects().root_of(file, self.config().conversations.folder.as_deref())
    }

    /// The conversation of a project that was used last, in this editor or else in another one; `None` if there is none. This
    /// reads a short file, as opening the conversation does.
    #[must_use]
    pub fn last_used_conversation(&self, root: &Path) -> Option<PathBuf> {
        let here = self.projects().last_used(root);
        let open = || self.host().open_conversations();
        here.filter(|file| file.is_file() || open().contains(file))
            .or_else(|| conversation_folder::last_used(&self.projects().note_of(root)))
    }

    /// The user looks at a conversation, or it was written: it is the one of its project that was used last. `is_entered` is
    /// false for a write, which may be that of a conversation out of sight.
    pub fn conversation_used(&self, file: &Path, is_entered: bool) {
        let Some(root) = self.project_of(file) else { return };
        let is_news = if is_entered {
            self.projects().note(root.clone(), file)
        } else {
            self.projects().last_used(&root).as_deref() == Some(file)
        };
        if !is_news {
            return;
        }
        let (note, file) = (self.projects().note_of(&root), file.to_owned());
        let then = |workspace: &Self, noted: std::io::Result<()>| {
            if let Err(error) = noted {
                workspace.log(Level::Warn, &format!("the conversation that was used last could not be noted: {error}"));
            }
        };
        if let Err(error) = self.background().run(move || conversation_folder::note_last_used(&note, &file), then) {
            self.log(Level::Warn, &format!("the conversation that was used last could not be noted: {error}"));
        }
    }

    /// The path for a new conversation of the project at `root`, in a folder that is made if it is not there. The file is not
    /// made. `date` and `time` are the user's, as they are to be in the name.
    ///
    /// # Errors
    /// When the folder cannot be made or not be written to.
    pub fn new_conversation(&self, root: &Path, title: &str, date: &str, time: &str) -> Result<PathBuf, UserError> {
        let folder = self.conversation_folder(root);
        let mode = if self.config().conversations.folder.is_some() { MODES.1 } else { MODES.0 };
        conversation_folder::prepare(&folder, mode).map_err(|error| {
            let words = format!("the folder for conversations, {}, cannot be written: {error}.", folder.display());
            UserError::new(words).with_advice("`conversations.folder` in `setup` chooses another one.")
        })?;
        let open = self.host().open_conversations();
        let names = (1..=MOST_NAMESAKES).map(|number| folder.join(file_name(title, date, time, number)));
        let mut free = names.filter(|path| !open.contains(path) && !conversation_folder::is_taken(path));
        free.next()
            .ok_or_else(|| UserError::new(format!("{} has too many conversations of this name", folder.display())))
    }
}
