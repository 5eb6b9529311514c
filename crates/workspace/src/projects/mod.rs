//! The conversations of a project: their folder, the one that was used last, and new ones.
//!
//! A project without a folder of its own for them has one in the state directory, at the path of the project below it: the
//! conversations of `/home/me/code` are in `conversations/home/me/code`. So the path of a conversation alone says to which
//! project it belongs, in every process of the user's.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use crate::components::ProjectConversations;
use flemma_chat::file_name;
use flemma_model::UserError;
use flemma_runtime::{Conversations, conversation_folder};
use flemma_tools::paths::real;

/// The mode of folders for conversations in the state directory, and of those below a project's root.
const MODES: (u32, u32) = (0o700, 0o777);

/// How many conversations of one name and date there may be.
const MOST_NAMESAKES: usize = 1000;

/// The file in a folder of the state directory that says which conversation was used last.
const LAST_USED: &str = ".last";

impl ProjectConversations {
    /// The folder that has the conversations of the project at `root`. It need not be there.
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
        self.shared.wait_for_disk(start, self.find_root(start, cwd))
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
        self.shared.wait_for_disk(&place, move || {
            here.filter(|file| file.is_file()).or_else(|| conversation_folder::last_used(&note))
        })
    }

    /// The user looks at a conversation, or it was written: it is the one of its project that was used last. `is_entered` is
    /// false for a write, which may be that of a conversation out of sight. One that is not in the folder for conversations counts for
    /// the project around it, or for `cwd`, until the editor ends.
    pub fn conversation_used(&self, file: &Path, cwd: &Path, is_entered: bool) {
        let Some(root) = self.shared.project_of(file) else {
            let (root, file) = (self.find_root(file, cwd), file.to_owned());
            if is_entered {
                self.background.run(root, move |this: &Self, root| _ = this.shared.projects.note(root, &file));
            }
            return;
        };
        let is_news = if is_entered {
            self.shared.projects.note(root.clone(), file)
        } else {
            self.shared.projects.last_used(&root).as_deref() == Some(file)
        };
        if !is_news {
            return;
        }
        let (note, file) = (self.shared.projects.note_of(&root), file.to_owned());
        let failure = "the conversation that was used last could not be noted";
        self.background.tidy(failure, move || conversation_folder::note_last_used(&note, &file));
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
        self.shared.wait_for_disk(&place, move || {
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

/// The folders of projects, and the conversation of each that was used last here.
#[derive(Debug)]
pub(crate) struct Projects {
    home: PathBuf,
    /// The same with links resolved: an editor may name files so.
    real_home: PathBuf,
    last_used: RefCell<HashMap<PathBuf, PathBuf>>,
    /// What lists conversations, and remembers what it has seen.
    pub(crate) list: Conversations,
}

impl Projects {
    /// `home` is the folder of all projects in the state directory. It need not be there.
    pub(crate) fn new(home: PathBuf) -> Self {
        let real_home = real(&home);
        Self { home, real_home, last_used: RefCell::default(), list: Conversations::default() }
    }

    /// The folder of a project in the state directory. `root` is absolute.
    pub(crate) fn own_folder(&self, root: &Path) -> PathBuf {
        let names = root.components().filter(|component| matches!(component, Component::Normal(_)));
        names.fold(self.home.clone(), |folder, name| folder.join(name))
    }

    /// The root of the project to which a file belongs; `None` if it is not among the conversations of a project. `below` is
    /// the folder below a project's root that has its conversations, if the user wants one.
    pub(crate) fn root_of(&self, file: &Path, below: Option<&str>) -> Option<PathBuf> {
        let folder = file.parent().filter(|folder| folder.is_absolute())?;
        let own = [&self.home, &self.real_home].into_iter().find_map(|home| folder.strip_prefix(home).ok());
        if let Some(project) = own {
            return Some(Path::new("/").join(project));
        }
        let below = plain_names(below?);
        folder.ends_with(&below).then(|| folder.ancestors().nth(below.components().count()).map(Path::to_owned))?
    }

    /// The file that notes which conversation of a project was used last.
    pub(crate) fn note_of(&self, root: &Path) -> PathBuf {
        self.own_folder(root).join(LAST_USED)
    }

    /// A conversation of a project is used. Says whether another one was used before it.
    pub(crate) fn note(&self, root: PathBuf, file: &Path) -> bool {
        let before = self.last_used.borrow_mut().insert(root, file.to_owned());
        before.as_deref() != Some(file)
    }

    /// The conversation of a project that was used last here.
    pub(crate) fn last_used(&self, root: &Path) -> Option<PathBuf> {
        self.last_used.borrow().get(root).cloned()
    }
}

/// A path without `.`.
pub(crate) fn plain_names(path: &str) -> PathBuf {
    Path::new(path).components().filter(|component| *component != Component::CurDir).collect()
}
