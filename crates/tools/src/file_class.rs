//! What a file is to tools that write: the one answer that all of them use.
//!
//! A file is judged by its name, by where its links lead, by the places of the user that lead to it ([`super::well_known`]), by its
//! other names (hard links), and by the folders above it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::{
    linked::{FilesBelow, Linked},
    own_files::LOCK,
    paths::{plain, real},
    sensitive::{is_of_runtime, is_start_up},
    well_known,
};
use flemma_model::ModelError;

/// The largest file that is looked at to find out whether it configures Flemma, in bytes.
const MAX_CONFIG: u64 = 4 << 20;

/// The maximum size of a `.git` file, in bytes.
const MAX_POINTER: u64 = 8192;

/// What is in Flemma's state folder and belongs to the user: whole outputs, and the conversations of projects.
const OF_THE_USER: [&str; 2] = ["outputs", "conversations"];

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileClass {
    /// One like any other.
    Ordinary,
    /// A program of the user's reads it when it starts, or Neovim runs it. Writing it asks every time, whatever rules say.
    StartUp,
    /// Flemma itself relies on it. No tool writes it, whoever approves that.
    Refused(ModelError),
}

/// Whose files are judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Flemma's state folder.
    pub state: Option<PathBuf>,
    /// The files of the conversations that are open.
    pub open: Vec<PathBuf>,
    /// The folders of 'runtimepath'.
    pub runtime: Vec<PathBuf>,
}

impl Owner {
    /// What a file is. `path` is absolute. This reads the disk.
    pub fn class_of(&self, path: &Path) -> FileClass {
        let found = real(path);
        let linked = Linked::at(&found);
        let others = self
            .home
            .as_deref()
            .map_or(Some(Vec::new()), |home| well_known::names(&found, linked, real(home), &self.runtime));
        let mut names = vec![found.clone(), plain(path)];
        names.extend(others.iter().flatten().cloned());
        if let Some(why) = self.refusal(&found, linked, &names) {
            return FileClass::Refused(ModelError::new(format!("{} {why}", found.display())));
        }
        let homes = [self.home.clone(), self.home.as_deref().map(real)];
        let runtime: Vec<PathBuf> = self.runtime.iter().flat_map(|folder| [real(folder), plain(folder)]).collect();
        let is_run = |name: &Path| runtime.iter().any(|folder| name.strip_prefix(folder).is_ok_and(is_of_runtime));
        let is_named = |name: &PathBuf| homes.iter().any(|home| is_start_up(name, home.as_deref())) || is_run(name);
        let is_led_to = others.is_none_or(|others| !others.is_empty());
        match is_led_to || names.iter().any(is_named) || is_in_repository(&found) {
            true => FileClass::StartUp,
            false => FileClass::Ordinary,
        }
    }

    /// Why no tool writes a file, in words after its path.
    fn refusal(&self, found: &Path, linked: Option<Linked>, names: &[PathBuf]) -> Option<String> {
        if found.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(LOCK.as_bytes())) {
            return Some("says who has a conversation open".to_owned());
        }
        for chat in &self.open {
            let chat = real(chat);
            if chat == found {
                return Some("is a conversation that is open in the editor".to_owned());
            }
            if linked.is_some() && Linked::at(&chat) == linked {
                let chat = chat.display();
                return Some(format!("is the same file as {chat}, a conversation that is open in the editor"));
            }
        }
        if self.states(found).iter().any(|state| keeps(state, found, linked)) {
            return Some(
                "is among the files in which Flemma records what the user trusts, approves and writes".to_owned(),
            );
        }
        let configs = self.folders("XDG_CONFIG_HOME", ".config");
        let is_config = |name: &PathBuf| {
            let is_script = name.extension().is_some_and(|end| end == "lua" || end == "vim");
            let is_main = || env::var_os("MYVIMRC").is_some_and(|main| real(Path::new(&main)) == *name);
            is_main() || (is_script && configs.iter().any(|folder| name.starts_with(folder)))
        };
        (names.iter().any(is_config) && mentions_flemma(found)).then(|| "configures Flemma".to_owned())
    }

    /// Flemma's state folders: that of this Neovim, and those of others, which have other names (`NVIM_APPNAME`). A name may have
    /// several parts.
    fn states(&self, found: &Path) -> Vec<PathBuf> {
        let others = self.folders("XDG_STATE_HOME", ".local/state").into_iter().flat_map(|folder| {
            let is_state =
                |above: &&Path| above.starts_with(&folder) && above.file_name().is_some_and(|name| name == "flemma");
            let around = found.ancestors().find(is_state).map(Path::to_owned);
            let apps = fs::read_dir(&folder).into_iter().flatten().flatten();
            apps.map(|app| real(&app.path().join("flemma"))).chain(around).collect::<Vec<_>>()
        });
        self.state.iter().map(|state| real(state)).chain(others).collect()
    }

    /// A folder of the user's, which a variable may name, and its usual place in the home folder, without links.
    fn folders(&self, variable: &str, usual: &str) -> Vec<PathBuf> {
        let named = env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
        let usual = self.home.as_ref().map(|home| home.join(usual));
        [named, usual].into_iter().flatten().map(|folder| real(&folder)).collect()
    }
}

/// Whether a file is in a state folder, under whatever name, and not the user's.
fn keeps(state: &Path, found: &Path, linked: Option<Linked>) -> bool {
    if let Ok(below) = found.strip_prefix(state) {
        return !OF_THE_USER.iter().any(|folder| below.starts_with(folder) && below != Path::new(folder));
    }
    linked.is_some_and(|linked| {
        let below = FilesBelow::find([state].into_iter());
        let is_of_user = |path: &Path| OF_THE_USER.iter().any(|folder| path.starts_with(state.join(folder)));
        below.names_of(linked).any(|(_, path)| !is_of_user(path))
    })
}

fn mentions_flemma(file: &Path) -> bool {
    let is_readable = fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MAX_CONFIG);
    is_readable
        && fs::read(file).is_ok_and(|text| memchr::memmem::find(&text.to_ascii_lowercase(), b"flemma").is_some())
}

/// Whether a file is inside a repository, and not in a worktree: what git itself reads. Repositories are recognised by their contents.
fn is_in_repository(path: &Path) -> bool {
    for folder in path.ancestors().skip(1) {
        if is_repository(folder) {
            return true;
        }
        if has(folder, ".git") {
            return git_directory(folder).is_some_and(|inside| path.starts_with(inside));
        }
    }
    false
}

/// Whether there is something of this name in a folder.
pub(super) fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}

/// Whether a folder is a git directory, bare or not, or that of a worktree.
pub(super) fn is_repository(folder: &Path) -> bool {
    has(folder, "HEAD") && ["objects", "refs", "reftable", "commondir"].into_iter().any(|name| has(folder, name))
}

/// The git directory that the file `.git` in a folder points to, with links followed.
pub(super) fn git_directory(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    // Git only writes a short regular file. Anything else might never end.
    if !fs::metadata(&file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_POINTER) {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let to = text.strip_prefix("gitdir:")?.trim();
    (!to.is_empty()).then(|| real(&folder.join(to)))
}
