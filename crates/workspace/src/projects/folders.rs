//! Which folder has the conversations of which project.
//!
//! A project without a folder of its own for them has one in the state directory, at the path of the project below it: the
//! conversations of `/home/me/code` are in `conversations/home/me/code`. So the path of a conversation alone says to which
//! project it belongs, in every process of the user's.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use flemma_runtime::Conversations;
use flemma_tools::paths::real;

/// The file in a folder of the state directory that says which conversation was used last.
const LAST_USED: &str = ".last";

/// The folders of projects, and the conversation of each that was used last here.
#[derive(Debug)]
pub(crate) struct Projects {
    home: PathBuf,
    /// The same with links resolved: an editor may name files so.
    real_home: PathBuf,
    last_used: RefCell<HashMap<PathBuf, PathBuf>>,
    list: Conversations,
}

impl Projects {
    /// `home` is the folder of all projects in the state directory. It need not be there.
    pub(crate) fn new(home: PathBuf) -> Self {
        let real_home = real(&home);
        Self { home, real_home, last_used: RefCell::default(), list: Conversations::default() }
    }

    /// What lists conversations, and remembers what it has seen.
    pub(crate) fn list(&self) -> &Conversations {
        &self.list
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
